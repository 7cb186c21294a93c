"""Writes data/config-defaults.json: the defaults of Transformers' config classes, for the keys that decide sizes.

Not run by the tests: it needs Transformers (no PyTorch), `python -m venv v && v/bin/pip install transformers==5.16.1`, then
`v/bin/python tests/planning/fit/make_config_defaults.py data/config-defaults.json`. 5.16.1 is in the ranges that vLLM 0.25.1 and 0.32.0 ask for.
"""
from __future__ import annotations

import json
import logging
import re
import sys
import warnings

KEEP = re.compile(
    r"hidden|head|layer|width|depth|expert|moe|mlp|ffn|intermediate|vocab|window|chunk|rank|dim$|dims$|state|conv|kernel|mamba|expand|group|n_embd|"
    r"n_inner|n_ctx|n_positions|d_model|max_position|max_source|max_target|num_mel|channels|patch|image_size|spatial|temporal|tie_word|multi_query|"
    r"new_decoder|decoder|encoder|sparse|period|offset|interval|pattern|altup|laurel|index_|kv_|q_lora|num_positions|position_emb|type_vocab|"
    r"out_hidden|out_features|output_dim|num_queries|qformer|query|adapter|project|downsample|upsample|merge|ratio|embed|use_sliding|n_group|"
    r"parallel|attn_|mtp|nextn|bottleneck|zero_expert|stride|causal|is_encoder_decoder|dt_|ssm|tower|d_state|n_layer|n_head|n_mel|seq_len")
DROP = re.compile(r"dropout|eps$|init|_act|activation|drop_path|drop_rate|loss|label|rope|theta|output_hidden|token_id|token_index|"
                  r"freeze|softcap|scal|noise|mask")
FAMILIES = re.compile(
    r"dab|deform|detr|sam|tapas|tvp|tvlt|vits|univnet|wav2vec|wavlm|hubert|sew|unispeech|speecht5|clap|clvp|encodec|mimi|dac|musicgen|bark|seamless|yolos|"
    r"mask|oneformer|segformer|swin|convnext|resnet|regnet|mobile|efficient|levit|poolformer|focalnet|dinat|nat$|vit_|beit|deit|dino|data2vec|perceiver|"
    r"reformer|longformer|led|bigbird|big_bird|fsmt|marian|prophet|xlnet|xlm$|xmod|flaubert|ctrl|transfo|funnel|ibert|lxmert|visual_bert|layoutlm|markuplm|"
    r"splinter|squeezebert|rembert|roformer|realm|retri|esm|graphormer|decision|time_series|patchts|autoformer|informer|trajectory|depth|dpt|glpn|zoe|"
    r"superpoint|superglue|lightglue|vitpose|owl|grounding|omdet|^table|donut-swin|trocr|pix2struct|udop|bros|lilt|nystrom|yoso|mega|luke|mluke|mra|canine|"
    r"align$|altclip|chinese_clip|groupvit|x-clip|flava|git|bridgetower|vilt|imagegpt|van$|cvt|pvt|timesformer|videomae|vivit|vjepa|ijepa|hiera|timm|"
    r"rwkv|openai-gpt|gpt_neo$|codegen|blender|pegasus|plbart|nllb|switch|t5|mt5|umt5|byt5|longt5|pop2piano|m2m|mvp|speech_to|fastspeech|kosmos|biogpt|"
    r"electra|deberta|mpnet|megatron|nezha|ernie$|ernie_m|convbert|distilbert|albert|mobilebert|fnet|qdqbert|cpmant|gptsan|jukebox|electra|edgetam|evolla|"
    r"eomt|rt_|d_fine|dfine|conditional|textnet|upernet|prompt_depth|vitmatte|pe_|parakeet|lasr|moonshine|higgs|csm|dia|colqwen|colpali|colmodern|xlstm|"
    r"recurrent_gemma|doge|bitnet|blt|moshi|zamba$|diffllama|helium|vit$|xcodec|kyutai|sav|chmv2|metaclip|rag|pp_|uvdoc|slan|pixio|videoprism|video_llama")


def useful(key: str, value: object) -> bool:
    """Scalars and short lists of numbers under keys that decide sizes."""
    if key == "qk_rope_head_dim":
        return True
    if not KEEP.search(key) or DROP.search(key) or isinstance(value, dict):
        return False
    if isinstance(value, list):
        return len(value) <= 16 and all(isinstance(item, (int, float)) for item in value)
    return not isinstance(value, str)


def entry(config_class: type) -> dict[str, object]:
    """{"d": defaults, "am": other names of keys, "sub": nested sections and their model types}."""
    values = config_class().to_dict()
    sub = {}
    for key, value in values.items():
        if isinstance(value, dict) and (key.endswith("_config") or value.get("model_type")):
            sub[key] = value.get("model_type") or getattr(getattr(config_class, "sub_configs", {}).get(key), "model_type", "") or ""
    derived = {key for key in values if getattr(config_class, key, values[key]) is None}     # worked out from other keys, so no default at all
    values = {key: value[0] if isinstance(value, list) and len(value) > 16 and len(set(map(str, value))) == 1 else value for key, value in values.items()}
    out: dict[str, object] = {"d": {key: value for key, value in values.items() if useful(key, value) and key not in derived}}
    if names := dict(getattr(config_class, "attribute_map", None) or {}):
        out["am"] = names
    if sub:
        out["sub"] = {key: value for key, value in sub.items() if value}
    return out


def main(path: str) -> None:
    """Dump every family that a language model can be made of."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    import transformers

    out = {}
    for model_type in sorted(transformers.CONFIG_MAPPING.keys()):
        if FAMILIES.search(model_type):
            continue
        try:
            out[model_type] = entry(transformers.CONFIG_MAPPING[model_type])
        except Exception as error:  # a class that needs another package or the network
            print(f"left out {model_type}: {str(error)[:80]}", file=sys.stderr)
    lines = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in out.items()]
    header = json.dumps({"source": f"transformers {transformers.__version__}, config classes with their defaults", "checked": "2026-11-30"})
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"":' + header + ",\n" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main(sys.argv[1])
