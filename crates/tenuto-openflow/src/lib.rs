//! OpenFlow 1.3 codec and Tenuto's experimenter messages.
