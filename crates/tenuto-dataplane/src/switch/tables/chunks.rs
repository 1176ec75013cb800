//! A vector that grows a piece at a time: nothing that is in it ever moves, so that to add to a
//! hundred thousand costs what it costs to add to a hundred.

use std::ops::{Index, IndexMut};

/// Elements of a piece. The first grows up to that like any vector: most tables are small.
const PIECE: usize = 512;

#[derive(Clone, Debug)]
pub(in crate::switch) struct Chunks<T>(Vec<Vec<T>>);

impl<T> Chunks<T> {
    pub(in crate::switch) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(in crate::switch) fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * PIECE + last.len())
    }

    pub(in crate::switch) fn push(&mut self, element: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < PIECE => last.push(element),
            before => {
                let mut piece = before.map_or_else(Vec::new, |_| Vec::with_capacity(PIECE));
                piece.push(element);
                self.0.push(piece);
            }
        }
    }

    #[inline]
    pub(in crate::switch) fn get(&self, place: u32) -> Option<&T> {
        self.0.get(place as usize / PIECE)?.get(place as usize % PIECE)
    }

    #[inline]
    pub(in crate::switch) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.0.get_mut(place as usize / PIECE)?.get_mut(place as usize % PIECE)
    }

    pub(in crate::switch) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }

    pub(in crate::switch) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().flatten()
    }
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Index<u32> for Chunks<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: u32) -> &T {
        &self.0[place as usize / PIECE][place as usize % PIECE]
    }
}

impl<T> IndexMut<u32> for Chunks<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.0[place as usize / PIECE][place as usize % PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_there_and_never_moves() {
        let mut chunks = Chunks::new();
        for n in 0..3 * PIECE + 7 {
            assert_eq!(chunks.len(), n);
            chunks.push(n);
        }
        let at: Vec<*const usize> = chunks.iter().map(std::ptr::from_ref).collect();
        chunks.push(0);
        chunks[1_030] = 5;
        assert!(chunks.iter().map(std::ptr::from_ref).zip(at).all(|(now, before)| now == before));
        assert_eq!((chunks[511], chunks[512], chunks[1_030]), (511, 512, 5));
        assert_eq!((chunks.get(1_543), chunks.get(1_544)), (Some(&0), None));
        chunks.iter_mut().for_each(|n| *n += 1);
        assert_eq!(chunks.iter().count(), chunks.len());
        assert_eq!(chunks[0], 1);
    }
}
