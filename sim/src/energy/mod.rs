//! Activity and technology to energy.
