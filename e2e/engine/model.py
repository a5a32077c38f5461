"""Writes a small model with random weights and its tokenizer, in the form that real engines load.

    python model.py FOLDER WORDS_FILE

What it says is noise, but repeatable noise: greedy decoding picks printable text only and never the
end token, so a request runs to its max_tokens. It is just large enough for a prompt to take
noticeable time to compute, so that a cache hit shows in the time to the first token. Each word of
WORDS_FILE is one token, with and without a space before it: text made of these words has as many
tokens as words.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

SEED = 7
HIDDEN, LAYERS, FFN = 256, 4, 768
HEADS, KV_HEADS, HEAD_DIM = 4, 2, 64
POSITIONS = 32_768
MOST_TOKENS = 4096

PAD, END = "<|pad|>", "<|end|>"
ROLES = ("system", "user", "assistant", "tool")
SPECIAL = [PAD, END, *(f"<|{role}|>" for role in ROLES)]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content or '' }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tokenizer(words: list[str]) -> Tokenizer:
    """Byte-level, so that any text has tokens; of merges, those that the words need."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=MOST_TOKENS,
        min_frequency=1,
        special_tokens=[AddedToken(text, special=True, normalized=False) for text in SPECIAL],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*words, *(f" {word}" for word in words)], trainer)
    return tokenizer


def make_weights(tokenizer: Tokenizer) -> dict[str, torch.Tensor]:
    """A Qwen3 of the sizes above, by parameter name."""
    generator = torch.Generator().manual_seed(SEED)

    def matrix(rows: int, columns: int, scale: float) -> torch.Tensor:
        return (torch.randn(rows, columns, generator=generator) * scale).to(torch.bfloat16)

    def linear(outputs: int, inputs: int) -> torch.Tensor:
        return matrix(outputs, inputs, inputs**-0.5)

    def norm(size: int) -> torch.Tensor:
        return torch.ones(size, dtype=torch.bfloat16)

    size = tokenizer.get_vocab_size()
    weights = {"model.embed_tokens.weight": linear(size, HIDDEN), "model.norm.weight": norm(HIDDEN)}
    for number in range(LAYERS):
        layer = {
            "input_layernorm": norm(HIDDEN),
            "post_attention_layernorm": norm(HIDDEN),
            "self_attn.q_proj": linear(HEADS * HEAD_DIM, HIDDEN),
            "self_attn.k_proj": linear(KV_HEADS * HEAD_DIM, HIDDEN),
            "self_attn.v_proj": linear(KV_HEADS * HEAD_DIM, HIDDEN),
            "self_attn.o_proj": linear(HIDDEN, HEADS * HEAD_DIM),
            "self_attn.q_norm": norm(HEAD_DIM),
            "self_attn.k_norm": norm(HEAD_DIM),
            "mlp.gate_proj": linear(FFN, HIDDEN),
            "mlp.up_proj": linear(FFN, HIDDEN),
            "mlp.down_proj": linear(HIDDEN, FFN),
        }
        weights |= {f"model.layers.{number}.{name}.weight": value for name, value in layer.items()}
    head = matrix(size, HIDDEN, 1.0)
    head[[number for number in range(size) if not is_printable(tokenizer, number)]] = 0.0
    return weights | {"lm_head.weight": head}


def is_printable(tokenizer: Tokenizer, number: int) -> bool:
    text = tokenizer.decode([number])
    return bool(text) and text.isascii() and text.isprintable()


def make_documents(tokenizer: Tokenizer) -> dict[str, dict[str, object]]:
    ends = {"eos_token_id": tokenizer.token_to_id(END), "pad_token_id": tokenizer.token_to_id(PAD)}
    return {
        "config.json": {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "dtype": "bfloat16",
            "vocab_size": tokenizer.get_vocab_size(),
            "hidden_size": HIDDEN,
            "intermediate_size": FFN,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS,
            "head_dim": HEAD_DIM,
            "hidden_act": "silu",
            "rms_norm_eps": 1e-6,
            "rope_theta": 10_000.0,
            "max_position_embeddings": POSITIONS,
            "attention_bias": False,
            "tie_word_embeddings": False,
            **ends,
        },
        "generation_config.json": {**ends},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": POSITIONS,
            "pad_token": PAD,
            "eos_token": END,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
        },
    }


def main(folder: Path, words: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(words.read_text(encoding="utf-8").split())
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in make_documents(tokenizer).items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    save_file(make_weights(tokenizer), folder / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
