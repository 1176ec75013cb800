//! A policer at an interface, as a program of the BPF machine (RFC 9669): frames above a rate are dropped
//! before they are anybody's work.
//!
//! Each rate is a token bucket in the form of a *theoretical arrival time* (the generic cell rate
//! algorithm, ITU-T I.371): one number, moved forward by what a frame costs, and never further ahead of
//! the clock than the bucket is deep. One number can be changed by one atomic instruction, so that
//! processors need no lock.

use super::bpf::{
    self, ATTACH_TCX_EGRESS, ATTACH_TCX_INGRESS, Instruction, PROGRAM_SCHED_CLS, instruction,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// `BPF_MAP_TYPE_ARRAY`.
const MAP_TYPE_ARRAY: u32 = 2;
/// Times that a processor tries to move a bucket on while others do the same; then the frame is dropped.
const TRIES: usize = 4;
/// Helpers of the kernel.
const MAP_LOOK_UP: i32 = 1;
const CLOCK: i32 = 5;
/// `len` and `gso_segs` of `struct __sk_buff`.
const LENGTH_AT: i16 = 0;
const SEGMENTS_AT: i16 = 164;
/// The words of the map's only value.
const PACKETS_AT: i16 = 0;
const BITS_AT: i16 = 8;
const DROPPED_AT: i16 = 16;
const VALUE_WORDS: usize = 3;
/// `TCX_NEXT` and `TCX_DROP`.
const NEXT: i32 = -1;
const DROP: i32 = 2;
/// Costs of a byte have this many binary places.
const BYTE_PLACES: i32 = 16;

/// What passes: each is a cost per frame or byte, and none for no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// Nanoseconds of the bucket that a frame costs.
    pub(crate) frame_ns: Option<u64>,
    /// Nanoseconds that a byte costs, times 2^16.
    pub(crate) byte_ns_scaled: Option<u64>,
    /// How far a bucket may be ahead of the clock.
    pub(crate) depth_ns: u64,
}

/// A policer that is attached, until it is dropped.
pub(crate) struct Policer {
    map: OwnedFd,
    _link: OwnedFd,
}

impl Policer {
    pub(crate) fn attach(interface: u32, is_ingress: bool, costs: Costs) -> io::Result<Self> {
        let value_bytes = u32::try_from(VALUE_WORDS * 8).expect("a few");
        let map = bpf::make_map(MAP_TYPE_ARRAY, value_bytes, 1)?;
        let kind = if is_ingress { ATTACH_TCX_INGRESS } else { ATTACH_TCX_EGRESS };
        let program = bpf::load(PROGRAM_SCHED_CLS, kind, &program(map.as_raw_fd(), costs))?;
        let link = bpf::link(&program, interface, kind, 0)?;
        Ok(Self { map, _link: link })
    }

    /// Frames dropped so far.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let mut value = [0_u64; VALUE_WORDS];
        bpf::look_up(&self.map, &mut value)?;
        Ok(value[2])
    }
}

// Registers: 6 frame, 7 bytes, 8 value of the map, 9 clock; 0 to 5 are lost at calls.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const FRAME: u8 = 6;
const BYTES: u8 = 7;
const VALUE: u8 = 8;
const NOW: u8 = 9;
const STACK: u8 = 10;

const LOAD_WORD: u8 = 0x61;
const LOAD_LONG: u8 = 0x79;
const STORE_IMMEDIATE_WORD: u8 = 0x62;
const ATOMIC_LONG: u8 = 0xdb;
const COMPARE_AND_EXCHANGE: i32 = 0xf1;
const ATOMIC_ADD: i32 = 0;
const LOAD_IMMEDIATE: u8 = 0x18;
const MAP_DESCRIPTOR: u8 = 1;
const MOVE_IMMEDIATE: u8 = 0xb7;
const MOVE: u8 = 0xbf;
const ADD_IMMEDIATE: u8 = 0x07;
const ADD: u8 = 0x0f;
const SUBTRACT: u8 = 0x1f;
const MULTIPLY: u8 = 0x2f;
const SHIFT_RIGHT: u8 = 0x77;
const JUMP: u8 = 0x05;
const IF_EQUAL: u8 = 0x1d;
const IF_ABOVE: u8 = 0x2d;
const IF_NOT_BELOW: u8 = 0x3d;
const IF_NOT_EQUAL_IMMEDIATE: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// Instructions, with jumps to the two ends of the program that are not there yet.
#[derive(Default)]
struct Program {
    code: Vec<Instruction>,
    to_drop: Vec<usize>,
}

impl Program {
    fn push(&mut self, opcode: u8, target: u8, source: u8, offset: i16, immediate: i32) {
        self.code.push(instruction(opcode, source << 4 | target, offset, immediate));
    }

    fn load_immediate(&mut self, target: u8, value: u64) {
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        self.push(LOAD_IMMEDIATE, target, 0, 0, i32::from_le_bytes([a, b, c, d]));
        self.push(0, 0, 0, 0, i32::from_le_bytes([e, f, g, h]));
    }

    fn drop_if(&mut self, opcode: u8, target: u8, source: u8) {
        self.to_drop.push(self.code.len());
        self.push(opcode, target, source, 0, 0);
    }

    /// Moves the bucket at `at` on by the cost in register 4, or drops the frame.
    fn take(&mut self, at: i16, depth_ns: u64) {
        let mut done = Vec::new();
        for _ in 0..TRIES {
            self.push(LOAD_LONG, R0, VALUE, at, 0);
            self.push(MOVE, R2, R0, 0, 0);
            // A bucket that is behind the clock is full.
            self.push(IF_NOT_BELOW, R2, NOW, 1, 0);
            self.push(MOVE, R2, NOW, 0, 0);
            self.push(MOVE, R3, R2, 0, 0);
            self.push(SUBTRACT, R3, NOW, 0, 0);
            self.load_immediate(R1, depth_ns);
            self.drop_if(IF_ABOVE, R3, R1);
            self.push(ADD, R2, R4, 0, 0);
            self.push(MOVE, R3, R0, 0, 0);
            self.push(ATOMIC_LONG, VALUE, R2, at, COMPARE_AND_EXCHANGE);
            done.push(self.code.len());
            self.push(IF_EQUAL, R0, R3, 0, 0);
        }
        self.drop_if(JUMP, 0, 0);
        let here = self.code.len();
        done.into_iter().for_each(|jump| self.aim(jump, here));
    }

    fn aim(&mut self, jump: usize, target: usize) {
        self.code[jump].offset = i16::try_from(target - jump - 1).expect("a short program");
    }

    fn exit(&mut self, answer: i32) {
        self.push(MOVE_IMMEDIATE, R0, 0, 0, answer);
        self.push(EXIT, 0, 0, 0, 0);
    }
}

fn program(map: RawFd, costs: Costs) -> Vec<Instruction> {
    let mut it = Program::default();
    it.push(MOVE, FRAME, R1, 0, 0);
    it.push(LOAD_WORD, BYTES, FRAME, LENGTH_AT, 0);
    it.push(STORE_IMMEDIATE_WORD, STACK, 0, -4, 0);
    it.push(LOAD_IMMEDIATE, R1, MAP_DESCRIPTOR, 0, map);
    it.push(0, 0, 0, 0, 0);
    it.push(MOVE, R2, STACK, 0, 0);
    it.push(ADD_IMMEDIATE, R2, 0, 0, -4);
    it.push(CALL, 0, 0, 0, MAP_LOOK_UP);
    it.push(IF_NOT_EQUAL_IMMEDIATE, R0, 0, 2, 0);
    it.exit(NEXT);
    it.push(MOVE, VALUE, R0, 0, 0);
    it.push(CALL, 0, 0, 0, CLOCK);
    it.push(MOVE, NOW, R0, 0, 0);
    if let Some(frame_ns) = costs.frame_ns {
        // What the stack sends as one and a device cuts apart counts as the frames that it becomes.
        it.push(LOAD_WORD, R4, FRAME, SEGMENTS_AT, 0);
        it.push(IF_NOT_EQUAL_IMMEDIATE, R4, 0, 1, 0);
        it.push(MOVE_IMMEDIATE, R4, 0, 0, 1);
        it.load_immediate(R1, frame_ns);
        it.push(MULTIPLY, R4, R1, 0, 0);
        it.take(PACKETS_AT, costs.depth_ns);
    }
    if let Some(scaled) = costs.byte_ns_scaled {
        it.push(MOVE, R4, BYTES, 0, 0);
        it.load_immediate(R1, scaled);
        it.push(MULTIPLY, R4, R1, 0, 0);
        it.push(SHIFT_RIGHT, R4, 0, 0, BYTE_PLACES);
        it.take(BITS_AT, costs.depth_ns);
    }
    it.exit(NEXT);
    let here = it.code.len();
    std::mem::take(&mut it.to_drop).into_iter().for_each(|jump| it.aim(jump, here));
    it.push(MOVE_IMMEDIATE, R1, 0, 0, 1);
    it.push(ATOMIC_LONG, VALUE, R1, DROPPED_AT, ATOMIC_ADD);
    it.exit(DROP);
    it.code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jump_stays_inside_the_program() {
        let both = Costs { frame_ns: Some(7), byte_ns_scaled: Some(u64::MAX >> 20), depth_ns: 9 };
        for costs in
            [both, Costs { frame_ns: None, ..both }, Costs { byte_ns_scaled: None, ..both }]
        {
            let code = program(3, costs);
            for (at, it) in code.iter().enumerate().filter(|(_, it)| it.opcode & 7 == 5) {
                let is_jump = it.opcode != CALL && it.opcode != EXIT;
                let target = at + 1 + usize::try_from(it.offset).expect("forward only");
                assert!(!is_jump || target < code.len(), "{at}");
            }
            assert_eq!(code.last().expect("not empty").opcode, EXIT);
        }
    }
}
