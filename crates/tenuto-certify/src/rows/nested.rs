//! A_X: what a group can have brought, each of its sets bounded by its own line (theory, "Delay of
//! class k at port p").

use crate::kernel::exact::{self, Curve, Line};
use crate::rows::context::Context;
use crate::rows::group::{Group, GroupKey};
use num_bigint::BigInt;
use num_traits::Zero;

/// What a set has of its own: flows that are in no set below it.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    /// K(t) + H(t+d).
    pub(crate) both: Curve,
    /// H(d); `None` without a bound.
    pub(crate) waiting: Option<BigInt>,
}

/// Λ(t) and Λ(t+d).
#[derive(Clone, Debug)]
struct Shaped {
    now: Line,
    then: Line,
}

/// One set, behind the one that it lies in.
#[derive(Clone, Debug)]
struct Piece {
    parent: Option<usize>,
    own: Own,
    shaped: Option<Shaped>,
}

impl Own {
    /// Of flows with K(t) and with H(t+d), `come` more in messages, of it `come_above` in H(d).
    pub(crate) fn new(same: &[Line], above: &[Line], come: &BigInt, come_above: &BigInt) -> Self {
        let mut both = exact::add(same, above);
        for line in &mut both {
            line.burst += come;
        }
        let waiting = above.iter().map(|line| &line.burst).min().map(|least| least + come_above);
        Self { both, waiting }
    }
}

/// The curve of a group as `class` sees it with the delay `delay_ps`; `own` tells of each set.
/// `None` where nothing of the class or above comes.
pub(crate) fn curve(
    context: &Context<'_>,
    (port, key): (usize, GroupKey),
    group: &Group,
    class: u8,
    delay_ps: u64,
    own: impl Fn(usize) -> Own,
) -> Option<Curve> {
    if !group.reaches(class) {
        return None;
    }
    let shaped = |at: usize| {
        let line = |ahead_ps: u64| match &group.sets[at].below {
            None => context.shaping((port, key), group, class, ahead_ps),
            Some(below) => context.upstream_shaping(below, class, ahead_ps),
        };
        Some(Shaped { now: line(0)?, then: line(delay_ps)? })
    };
    let pieces = group.sets.iter().enumerate().map(|(at, set)| Piece {
        parent: set.below.as_ref().map(|below| below.parent),
        own: own(at),
        shaped: shaped(at),
    });
    Some(nested(pieces.collect()))
}

/// A of the first of these sets, every one of which is behind the one that it lies in:
/// min{K(t) + H(t+d) + Σ A_Z, Λ(t) + H'(d), Λ(t+d)} with H'(d) = H(d) + Σ min{H'_Z(d), Λ_Z(d)}.
fn nested(mut pieces: Vec<Piece>) -> Curve {
    let mut within: Vec<Vec<Curve>> = vec![Vec::new(); pieces.len()];
    let mut higher: Vec<Option<BigInt>> = vec![Some(BigInt::zero()); pieces.len()];
    while let Some(Piece { parent, own, shaped }) = pieces.pop() {
        let at = pieces.len();
        let mut parts = within.pop().unwrap_or_default();
        let mut curve = own.both;
        if !parts.is_empty() {
            parts.push(curve);
            curve = exact::sum(&parts);
        }
        let mut waiting = higher.pop().flatten().zip(own.waiting).map(|(a, b)| a + b);
        if let Some(Shaped { now, then }) = shaped {
            curve.extend(waiting.as_ref().map(|more| Line::new(now.burst + more, now.rate)));
            waiting =
                Some(waiting.map_or_else(|| then.burst.clone(), |own| own.min(then.burst.clone())));
            curve.push(then);
        }
        match parent.filter(|parent| *parent < at) {
            None => return curve,
            Some(parent) => {
                within[parent].push(curve);
                higher[parent] = higher[parent].take().zip(waiting).map(|(a, b)| a + b);
            }
        }
    }
    Curve::new()
}

#[cfg(test)]
#[path = "../../tests/unit/rows_nested.rs"]
mod tests;
