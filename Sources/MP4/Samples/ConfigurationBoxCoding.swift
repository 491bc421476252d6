import Media

extension ConfigurationBox {
    /// Writes the box with a configuration; version and flags are 0.
    func write(_ configuration: [UInt8], to writer: inout BoxWriter) {
        writer.box(FourCC(type)) { writer in
            if isFullBox { writer.u32(0) }
            writer.raw(configuration)
        }
    }

    /// The configuration in a box of this type.
    func configuration(in box: BoxView) throws(MP4Error) -> [UInt8] {
        var fields = box.fields
        if isFullBox { _ = try fields.versionAndFlags() }
        return try fields.raw(fields.bytesLeft)
    }
}
