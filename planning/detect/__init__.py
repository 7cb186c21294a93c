"""Detection: what a host is, from what its commands printed. `read_host` is the entry; docs/detection.md tells the rules."""
from planning.detect import probes
from planning.detect.codec import facts_from_dict, facts_to_dict, survey_from_dict, survey_to_dict
from planning.detect.document import document
from planning.detect.read import read_host
from planning.detect.recording import load_recording
from planning.detect.summary import summary

__all__ = ["document", "facts_from_dict", "facts_to_dict", "load_recording", "probes", "read_host", "summary", "survey_from_dict", "survey_to_dict"]
