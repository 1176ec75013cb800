//! The form of a document that is written only, read from the declaration of its type.
//!
//! Types that print borrow what they print, so that nothing reads them back, and a value shows
//! neither what an empty list would hold nor the other variants of an enum. The declarations say
//! all that: fields, their types, attributes of serde, and in comments what each key means.
//! Whatever is not understood here ends the test.

use crate::source::{Field, Item, Sources, Variant, split_top};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// A type, by the file of its declaration and its name.
pub(crate) type Root = (&'static str, &'static str);

/// The JSON Schema of a document; `roots` are the types that it may be of, by file and name.
pub(crate) fn schema(id: &str, roots: &[Root]) -> Value {
    let mut forms = Forms { sources: Sources::read(), definitions: Map::new(), named: Vec::new() };
    let of = |(file, name): &Root| {
        let file = forms.sources.file(file);
        forms.of_named(&file, name)
    };
    let roots: Vec<Value> = roots.iter().map(of).collect();
    for root in &roots {
        let name = root["$ref"].as_str().and_then(|it| it.rsplit('/').next()).expect("a name");
        forms.definitions[name]["properties"]["schema"] = json!({ "const": id });
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": id,
        "$defs": forms.definitions,
    });
    match roots.as_slice() {
        [one] => schema["$ref"] = one["$ref"].clone(),
        several => schema["anyOf"] = json!(several),
    }
    schema
}

struct Forms {
    sources: Sources,
    definitions: Map<String, Value>,
    /// Where each definition is declared, and its name in the schema.
    named: Vec<(PathBuf, String, String)>,
}

impl Forms {
    /// A reference to a type that a file names.
    fn of_named(&mut self, from: &Path, name: &str) -> Value {
        let (file, item) = self.sources.find(from, name);
        if let Item::Alias(of) = item {
            return self.of_type(&file, &of);
        }
        let last = name.rsplit("::").next().expect("a name").to_owned();
        let known = self.named.iter().find(|it| it.0 == file && it.1 == last);
        if let Some((_, _, shown)) = known {
            return reference(shown);
        }
        if let Item::Tuple(types) = &item
            && let [one] = types.as_slice()
        {
            return self.of_type(&file, one);
        }
        let mut shown = last.clone();
        let module = file.file_stem().expect("a file").to_string_lossy().into_owned();
        if self.named.iter().any(|it| it.2 == shown) {
            shown = format!("{module}.{last}");
        }
        assert!(self.named.iter().all(|it| it.2 != shown), "two types are called {shown}");
        self.named.push((file.clone(), last, shown.clone()));
        let form = match &item {
            Item::Struct(fields) => self.of_fields(&file, fields, &[]),
            Item::Tuple(types) => self.of_tuple(&file, types),
            Item::Enum { variants, tag } => {
                let of = |it: &Variant| self.of_variant(&file, it, tag.as_deref());
                let forms: Vec<Value> = variants.iter().map(of).collect();
                json!({ "anyOf": forms })
            }
            Item::Alias(_) => unreachable!("an alias is followed"),
        };
        self.definitions.insert(shown.clone(), form);
        reference(&shown)
    }

    fn of_fields(&mut self, file: &Path, fields: &[Field], first: &[(&str, Value)]) -> Value {
        let mut properties: Map<String, Value> =
            first.iter().map(|(key, form)| ((*key).to_owned(), form.clone())).collect();
        let mut required: Vec<Value> = first.iter().map(|(key, _)| json!(key)).collect();
        for field in fields.iter().filter(|field| !field.is_skipped) {
            if field.is_flat {
                let (inner, is_optional) = match inside(&field.kind, "Option") {
                    Some(inner) => (inner, true),
                    None => (field.kind.as_str(), false),
                };
                let (file, item) = self.sources.find(file, inner.trim_start_matches('&'));
                let Item::Struct(inner) = item else { panic!("{inner} is flattened") };
                let form = self.of_fields(&file, &inner, &[]);
                let keys = form["properties"].as_object().expect("properties");
                properties.extend(keys.clone());
                if !is_optional {
                    required.extend(form["required"].as_array().expect("a list").clone());
                }
                continue;
            }
            let form = self.of_type(file, &field.kind);
            properties.insert(field.key.clone(), described(form, &field.meaning));
            if !field.is_optional {
                required.push(json!(field.key));
            }
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    fn of_tuple(&mut self, file: &Path, types: &[String]) -> Value {
        let items: Vec<Value> = types.iter().map(|kind| self.of_type(file, kind)).collect();
        json!({ "type": "array", "prefixItems": items, "items": false, "minItems": items.len() })
    }

    fn of_variant(&mut self, file: &Path, it: &Variant, tag: Option<&str>) -> Value {
        let word = json!({ "const": it.word });
        let inner = match (&it.inner, tag) {
            (None, None) => return described(word, &it.meaning),
            (None, Some(tag)) => return self.of_fields(file, &[], &[(tag, word)]),
            (Some(Item::Struct(fields)), Some(tag)) => {
                return self.of_fields(file, fields, &[(tag, word)]);
            }
            (Some(Item::Struct(fields)), None) => self.of_fields(file, fields, &[]),
            (Some(Item::Tuple(types)), None) => match types.as_slice() {
                [one] => self.of_type(file, one),
                several => self.of_tuple(file, several),
            },
            (Some(other), _) => panic!("{} holds {other:?}", it.word),
        };
        json!({
            "type": "object",
            "properties": { (it.word.as_str()): inner },
            "required": [it.word],
            "additionalProperties": false,
        })
    }

    fn of_type(&mut self, file: &Path, kind: &str) -> Value {
        let kind = kind.trim();
        if let Some(kind) = kind.strip_prefix('&') {
            return self.of_type(file, kind);
        }
        if let Some(inner) = inside(kind, "Option") {
            return json!({ "anyOf": [self.of_type(file, inner), { "type": "null" }] });
        }
        for one in ["Box", "Cow", "Arc"] {
            if let Some(inner) = inside(kind, one) {
                return self.of_type(file, inner);
            }
        }
        for list in ["Vec", "BTreeSet", "VecDeque"] {
            if let Some(inner) = inside(kind, list) {
                return json!({ "type": "array", "items": self.of_type(file, inner) });
            }
        }
        if let Some(inner) = inside(kind, "BTreeMap") {
            let value = split_top(inner)[1].clone();
            return json!({
                "type": "object", "additionalProperties": self.of_type(file, &value),
            });
        }
        if let Some(inner) = kind.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            return match inner.rsplit_once(';') {
                None => json!({ "type": "array", "items": self.of_type(file, inner) }),
                Some((inner, count)) => {
                    let count = count.trim().parse().expect("a literal length");
                    self.of_tuple(file, &vec![inner.to_owned(); count])
                }
            };
        }
        if let Some(inner) = kind.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
            return self.of_tuple(file, &split_top(inner));
        }
        match kind {
            "str" | "String" => json!({ "type": "string" }),
            "bool" => json!({ "type": "boolean" }),
            "f64" | "f32" => json!({ "type": "number" }),
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => {
                json!({ "type": "integer", "minimum": 0 })
            }
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => json!({ "type": "integer" }),
            "Value" | "serde_json::Value" => json!({}),
            // Too large for a number, it is written as its digits.
            "Natural" => {
                json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }] })
            }
            name => {
                let name = name.split('<').next().expect("a name");
                self.of_named(file, name)
            }
        }
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn described(mut form: Value, meaning: &str) -> Value {
    if !meaning.is_empty() {
        form["description"] = meaning.into();
    }
    form
}

/// What stands in the angle brackets of a generic type of this name.
fn inside<'a>(kind: &'a str, name: &str) -> Option<&'a str> {
    kind.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>').map(str::trim)
}
