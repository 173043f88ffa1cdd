//! Any bytes as the file of a definition.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepfast_fuzz::definition(bytes));
