"""Resolve: what a model is, from its files, and whether one engine can serve it.

`ModelManifest` holds facts (from a folder, the Hub, a directory on a host); `judge` says what vLLM makes of them.
"""
from planning.resolve.assemble import manifest_from_files
from planning.resolve.codec import manifest_from_dict, manifest_to_dict
from planning.resolve.directory import load_model_dir
from planning.resolve.manifest import ChatTemplate, ModelManifest, ModelSupport
from planning.resolve.support import judge

__all__ = ["ChatTemplate", "ModelManifest", "ModelSupport", "judge", "load_model_dir", "manifest_from_dict", "manifest_from_files",
           "manifest_to_dict"]
