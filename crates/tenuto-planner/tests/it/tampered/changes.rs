//! Every single change to a document, by the kind of its place; a sample where there are many.

use crate::support::list;
use serde_json::Value;
use std::collections::BTreeMap;

/// One change: where, what, and the document afterwards is [`Change::apply`]'s.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// JSON pointer.
    pub(crate) path: String,
    pub(crate) what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Another value in its place.
    Put(&'static str, Value),
    Drop(usize),
    Twice(usize),
    Swap(usize, usize),
}

impl Change {
    pub(crate) fn apply(&self, document: &Value) -> Value {
        let mut changed = document.clone();
        let place = changed.pointer_mut(&self.path).expect("it is there");
        match &self.what {
            What::Put(_, value) => *place = value.clone(),
            What::Drop(at) => drop(list(place).remove(*at)),
            What::Twice(at) => {
                let copy = list(place)[*at].clone();
                list(place).push(copy);
            }
            What::Swap(a, b) => list(place).swap(*a, *b),
        }
        changed
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self.what {
            What::Put(kind, _) => kind,
            What::Drop(_) => "an element less",
            What::Twice(_) => "an element twice",
            What::Swap(..) => "elements swapped",
        }
    }

    /// The path with `*` for every index, that of a lost link's state as that of the plan's.
    pub(crate) fn field(&self) -> String {
        let field = generic(&self.path);
        field
            .strip_prefix("/link_losses/*")
            .filter(|rest| !rest.is_empty())
            .map_or_else(|| field.clone(), str::to_owned)
    }
}

fn generic(path: &str) -> String {
    let part = |part: &str| {
        let is_index = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_index { "*".to_owned() } else { part.to_owned() }
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// All values by their path, outermost first.
fn places(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    found.push((path.to_owned(), value.clone()));
    match value {
        Value::Array(all) => {
            for (index, item) in all.iter().enumerate() {
                places(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, item) in members {
                places(item, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// Every change, at most `each_max` of one kind to one field: which ones is drawn from `seed`.
pub(crate) fn changes(document: &Value, each_max: usize, seed: u64) -> Vec<Change> {
    let mut all = Vec::new();
    places(document, "", &mut all);
    let mut by_field: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (path, value) in &all {
        by_field.entry(generic(path)).or_default().push(value.clone());
    }
    let mut by_kind: BTreeMap<(String, &str), Vec<Change>> = BTreeMap::new();
    for (path, value) in all.iter().skip(1) {
        for what in of(value, &by_field[&generic(path)]) {
            let change = Change { path: path.clone(), what };
            by_kind.entry((generic(path), change.kind())).or_default().push(change);
        }
    }
    let mut random = seed;
    let mut sample = Vec::new();
    for mut group in by_kind.into_values() {
        while group.len() > each_max {
            // Knuth's generator: the upper bits are good enough to choose what is left out.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = usize::try_from(random >> 33).expect("31 bits") % group.len();
            group.swap_remove(at);
        }
        sample.extend(group);
    }
    sample
}

/// What can be put in the place of a value.
fn of(value: &Value, alike: &[Value]) -> Vec<What> {
    let put = |kind, value: Value| What::Put(kind, value);
    let other = alike.iter().find(|other| *other != value && !other.is_null());
    let mut all = match value {
        Value::Number(number) => {
            let n = number.as_u64().unwrap_or(0);
            [
                ("a unit less", n.saturating_sub(1)),
                ("a little less", n - n / 1_024),
                ("half", n / 2),
                ("nothing", 0),
                ("a unit more", n.saturating_add(1)),
                ("twice", n.saturating_mul(2)),
            ]
            .into_iter()
            .filter(|(_, other)| *other != n)
            .map(|(kind, other)| put(kind, other.into()))
            .collect()
        }
        Value::Bool(is) => vec![put("the contrary", (!is).into())],
        Value::String(text) => {
            let other = other.cloned().unwrap_or_else(|| format!("{text}x").into());
            vec![put("another text", other)]
        }
        Value::Null => {
            let mut all = vec![put("one", 1.into()), put("none at all", 0.into())];
            all.extend(other.map(|other| put("another", other.clone())));
            all
        }
        Value::Object(members) if members.len() == 1 => {
            other.map(|other| put("another", other.clone())).into_iter().collect()
        }
        Value::Array(list) => {
            let mut all = Vec::new();
            for at in 0..list.len() {
                all.extend([What::Drop(at), What::Twice(at)]);
                if at > 0 && list[at] != list[at - 1] {
                    all.push(What::Swap(at - 1, at));
                }
            }
            all
        }
        Value::Object(_) => vec![],
    };
    if !value.is_null() {
        all.push(put("null", Value::Null));
    }
    all
}
