//! Simulated and explored runs. One program, since every program is linked by itself.

mod controlled;
mod exact_meters;
mod exploration;
mod floods;
mod found;
mod installed;
mod judging;
mod processors;
mod raises;
mod rates;
mod reactive;
mod runs;
mod schedules;
mod support;
mod verdicts;
