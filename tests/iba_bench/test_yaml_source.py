import pytest
from pydantic import BaseModel, ConfigDict

from iba_bench.errors import UserError
from iba_bench.yaml_source import YamlSource


class Thing(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    sizes: list[int]


def source(tmp_path, text):
    path = tmp_path / "thing.yaml"
    path.write_text(text)
    return YamlSource(path, "thing.yaml")


def test_plain_data_with_text_keys(tmp_path):
    data = source(tmp_path, "6: {a: 1.5, b: yes, c: null}\nlist: [x, '012']\n").data
    assert data == {"6": {"a": 1.5, "b": True, "c": None}, "list": ["x", "012"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "thing.yaml:3: duplicate key 'a'; remove one"),
        ("a: &x [1]\nb: *x\n", "thing.yaml:1: aliases are not allowed; write the value out"),
        ("a: !!python/object:os.system x\n", "is not allowed"),
        ("a: 99999999999999999999999999\n", "is not allowed here; quote it if it is text"),
        ("a: [1, 2\nb: 3\n", "not valid YAML"),
        ("? [1, 2]\n: x\n", "thing.yaml:1: a key must be plain text"),
        ("a:\n" + "".join("  " * depth + "- a:\n" for depth in range(1, 30)), "24 levels"),
    ],
)
def test_what_a_data_file_must_not_have_is_named(tmp_path, text, message):
    with pytest.raises(UserError) as error:
        source(tmp_path, text)
    assert message in str(error.value)


def test_a_wrong_field_is_named_with_file_line_and_value(tmp_path):
    with pytest.raises(UserError) as error:
        source(tmp_path, "name: chair\nsizes:\n  - 1\n  - large\n").parse(Thing)
    assert str(error.value).startswith("thing.yaml:4: sizes.1: ")
    assert "'large'" in str(error.value)


def test_an_unknown_field_is_named_at_its_line(tmp_path):
    with pytest.raises(UserError, match="thing.yaml:3: colour: "):
        source(tmp_path, "name: chair\nsizes: []\ncolour: red\n").parse(Thing)


def test_a_missing_file_and_wrong_encoding_say_what_to_do(tmp_path):
    with pytest.raises(UserError, match="check the path"):
        YamlSource(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: caf\xe9\n")
    with pytest.raises(UserError, match="save it as UTF-8"):
        YamlSource(tmp_path / "latin.yaml")
