//! Match fields and matches.

use super::*;

/// A field of the basic class by its number: every one that OpenFlow 1.3 defines, with any value and
/// any mask that may be.
pub(super) fn basic_oxm() -> impl Strategy<Value = Oxm> {
    (0_u8..40, vec(any::<u8>(), 32), any::<bool>()).prop_map(|(number, payload, masked)| {
        let id = OxmId::basic(number).expect("defined");
        let whole = usize::from(id.payload_len);
        let len = if id.has_mask && !masked { whole / 2 } else { whole };
        let mask_bit = u8::from(id.has_mask && masked);
        let mut bytes = vec![0, 1, 0, 0, 0x80, 0, number << 1 | mask_bit];
        bytes.push(u8::try_from(len).expect("at most 32"));
        bytes.extend(&payload[..len]);
        // Through a flow-mod, as fields have no door of their own.
        let match_len = u8::try_from(bytes.len()).expect("short");
        bytes[3] = match_len;
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let mut message =
            Message::new(0, Body::FlowMod(FlowMod::new(FlowModCommand::Add, 0))).to_bytes();
        message.truncate(message.len() - 8);
        message.extend(bytes);
        message[3] = u8::try_from(message.len()).expect("short");
        let Ok(Message { body: Body::FlowMod(read), .. }) = Message::parse(&message) else {
            panic!("field {number} of {len} bytes")
        };
        read.match_.oxms.into_iter().next().expect("one field")
    })
}

pub(super) fn oxm() -> impl Strategy<Value = Oxm> {
    prop_oneof![
        8 => basic_oxm(),
        1 => (40_u8..128, any::<bool>(), bytes(40)).prop_map(|(field, has_mask, payload)| {
            Oxm::Unknown { class: 0x8000, field, has_mask, payload }
        }),
        1 => (0_u8..128, any::<bool>(), bytes(40)).prop_map(|(field, has_mask, payload)| {
            Oxm::Unknown { class: 0xffff, field, has_mask, payload }
        }),
    ]
}

pub(super) fn match_() -> impl Strategy<Value = Match> {
    vec(oxm(), 0..5).prop_map(|oxms| Match { oxms })
}
