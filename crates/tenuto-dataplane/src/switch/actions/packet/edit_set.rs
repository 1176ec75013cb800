//! The changes in an action set: at most one of each kind, in the order of section 5.10 of
//! OpenFlow 1.3.5, whatever the order in which they were written.

use super::{Edit, FieldValue};

/// Fields of the basic class.
const FIELDS: usize = 40;

/// The part of an action set that changes the frame.
#[derive(Clone, Debug)]
pub(in crate::switch) struct EditSet {
    /// By [`place`], which is the order of execution; a bit says whether the change counts.
    edits: [Option<Edit>; 12],
    placed: u16,
    /// Fields to set, by number; a bit says whether the value counts.
    fields: [[u8; 16]; FIELDS],
    given: u64,
}

impl Default for EditSet {
    fn default() -> Self {
        Self { edits: [None; 12], placed: 0, fields: [[0; 16]; FIELDS], given: 0 }
    }
}

const fn place(edit: &Edit) -> Option<usize> {
    Some(match edit {
        Edit::CopyTtlIn => 0,
        Edit::PopPbb => 1,
        Edit::PopVlan => 2,
        Edit::PopMpls(_) => 3,
        Edit::PushMpls(_) => 4,
        Edit::PushPbb(_) => 5,
        Edit::PushVlan(_) => 6,
        Edit::CopyTtlOut => 7,
        Edit::DecMplsTtl => 8,
        Edit::DecNwTtl => 9,
        Edit::SetMplsTtl(_) => 10,
        Edit::SetNwTtl(_) => 11,
        Edit::SetField(_) => return None,
    })
}

impl EditSet {
    /// Adds a change in place of one of its kind.
    pub(in crate::switch) fn write(&mut self, edit: Edit) {
        match (place(&edit), edit) {
            (Some(place), _) => {
                self.edits[place] = Some(edit);
                self.placed |= 1 << place;
            }
            (None, Edit::SetField(FieldValue { field, value })) => {
                if let Some(slot) = self.fields.get_mut(usize::from(field)) {
                    *slot = value;
                    self.given |= 1 << field;
                }
            }
            (None, _) => {}
        }
    }

    /// Forgets everything: done for every frame, so that it costs two words.
    pub(in crate::switch) fn clear(&mut self) {
        self.placed = 0;
        self.given = 0;
    }

    /// Whether there is nothing to change.
    pub(in crate::switch) fn is_empty(&self) -> bool {
        self.given == 0 && self.placed == 0
    }

    /// Takes the next change out, in the order of execution.
    pub(in crate::switch) fn take_next(&mut self) -> Option<Edit> {
        if self.placed != 0 {
            let place = self.placed.trailing_zeros() as usize;
            self.placed &= self.placed - 1;
            return self.edits.get(place).copied().flatten();
        }
        if self.given == 0 {
            return None;
        }
        let field = self.given.trailing_zeros();
        self.given &= self.given - 1;
        let field = u8::try_from(field).ok()?;
        Some(Edit::SetField(FieldValue { field, value: self.fields[usize::from(field)] }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_out_in_the_order_of_execution() {
        let mut set = EditSet::default();
        let field = |field, last| {
            let mut value = [0; 16];
            value[15] = last;
            Edit::SetField(FieldValue { field, value })
        };
        let written = [
            field(7, 3),
            Edit::DecNwTtl,
            Edit::PushVlan(0x88a8),
            Edit::PopVlan,
            Edit::CopyTtlIn,
            Edit::PushVlan(0x8100),
            field(3, 1),
            field(7, 5),
        ];
        written.into_iter().for_each(|edit| set.write(edit));
        let order: Vec<_> = std::iter::from_fn(|| set.take_next()).collect();
        let expected = [
            Edit::CopyTtlIn,
            Edit::PopVlan,
            Edit::PushVlan(0x8100),
            Edit::DecNwTtl,
            field(3, 1),
            field(7, 5),
        ];
        assert_eq!(order, expected);
        set.write(Edit::PopPbb);
        set.clear();
        assert_eq!(set.take_next(), None);
    }
}
