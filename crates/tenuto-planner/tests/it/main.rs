//! Plans: bounds, refusals and deployments, held against the checker and against play. One program, since every program is linked by itself.

mod adversarial;
mod certified;
mod data;
mod drawn;
mod exact_meters;
mod leaks;
mod legal_schedules;
mod loko;
mod priorities;
mod processors;
mod published;
mod read_and_certified;
mod staircases;
mod support;
mod tampered;
mod witnessed;
mod would_fit;
