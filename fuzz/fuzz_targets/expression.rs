//! Any bytes as an expression, and as a text with expressions in it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepfast_fuzz::expression(bytes));
