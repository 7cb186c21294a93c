"""Detection: what a host is, from what its commands printed. `read_host` is the entry; docs/detection.md tells the rules."""
from planning.detect.document import document
from planning.detect.read import read_host
from planning.detect.recording import load_recording
from planning.detect.summary import summary

__all__ = ["document", "load_recording", "read_host", "summary"]
