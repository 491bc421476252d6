/// A box of a sample entry that contains nothing but the decoder's configuration.
package struct ConfigurationBox: Hashable, Sendable {
    /// `hvcC`.
    package let type: String
    /// Whether version and flags precede the configuration (FullBox, ISO/IEC 14496-12 §4.2.2), as in `vvcC` and `dfLa`.
    package let isFullBox: Bool

    package init(_ type: String, isFullBox: Bool = false) {
        self.type = type
        self.isFullBox = isFullBox
    }
}
