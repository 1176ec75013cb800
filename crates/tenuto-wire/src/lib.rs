//! Frame views and builders, Tenuto's headers, and the keyed MAC of mode signals.
