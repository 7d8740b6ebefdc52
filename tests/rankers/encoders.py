"""A DistilBERT of a few hundred weights, drawn at random, with the words of the tests."""

from __future__ import annotations

from pathlib import Path

WORDS = "the a red green apple pear tree grows on is cheap sweet where buy ##s ##er".split()


def write_encoder(folder: Path, *, width: int = 12, tokens: int = 16) -> Path:
    """A model and its WordPiece tokenizer, as transformers keeps them."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import DistilBertConfig, DistilBertModel, PreTrainedTokenizerFast

    vocabulary = {word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    pieces = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=True)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=pieces, **special).save_pretrained(folder)
    config = DistilBertConfig(
        vocab_size=len(vocabulary), dim=width, hidden_dim=16, n_layers=2, n_heads=3, max_position_embeddings=tokens
    )
    before = torch.get_rng_state()
    torch.manual_seed(0)
    DistilBertModel(config).save_pretrained(folder)
    torch.set_rng_state(before)
    return folder
