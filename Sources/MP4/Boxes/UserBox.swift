/// A `uuid` box with a payload defined by another module (ISO/IEC 14496-12 §4.2).
package struct UserBox: Hashable, Sendable {
    /// Size, type and extended type.
    package static let headerSizeBytes = 24

    /// The 16 bytes of `usertype`.
    package var userType: [UInt8]
    package var payload: [UInt8]

    /// - Precondition: `userType` has 16 bytes, the payload fewer than 4 GiB.
    package init(userType: [UInt8], payload: [UInt8]) {
        precondition(userType.count == 16, "a usertype has 16 bytes")
        precondition(payload.count < Int(UInt32.max) - Self.headerSizeBytes)
        self.userType = userType
        self.payload = payload
    }

    /// The whole box.
    package var bytes: [UInt8] {
        var writer = BoxWriter(reserving: Self.headerSizeBytes + payload.count)
        writer.box("uuid") { writer in
            writer.raw(userType)
            writer.raw(payload)
        }
        return writer.bytes
    }
}
