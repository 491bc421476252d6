/// The general part of `profile_tier_level` (ITU-T H.265 §7.3.3).
package struct H265ProfileTierLevel: Hashable, Sendable {
    /// `general_profile_space`, 0 … 3.
    package var space: UInt8
    /// `general_tier_flag`.
    package var isHighTier: Bool
    /// `general_profile_idc`: 1 main, 2 main 10, 4 range extensions, …
    package var profile: UInt8
    /// `general_profile_compatibility_flag`, number 0 first.
    package var compatibility: UInt32
    /// 48 bits from `general_progressive_source_flag` on, most significant first.
    package var constraints: UInt64
    /// `general_level_idc`: thirty times the level.
    package var level: UInt8

    /// - Parameter subLayers: `maxNumSubLayersMinus1`.
    init(reading reader: inout BitReader, subLayers: Int) throws(BitstreamError) {
        space = UInt8(try reader.bits(2))
        isHighTier = try reader.flag()
        profile = UInt8(try reader.bits(5))
        compatibility = try reader.bits(32)
        constraints = UInt64(try reader.bits(16)) << 32
        constraints |= UInt64(try reader.bits(32))
        level = UInt8(try reader.bits(8))
        guard subLayers > 0 else { return }
        var present: [(profile: Bool, level: Bool)] = []
        for _ in 0..<subLayers { present.append((try reader.flag(), try reader.flag())) }
        try reader.skip(2 * (8 - subLayers))
        for (hasProfile, hasLevel) in present {
            try reader.skip((hasProfile ? 88 : 0) + (hasLevel ? 8 : 0))
        }
    }

    init(
        space: UInt8, isHighTier: Bool, profile: UInt8, compatibility: UInt32,
        constraints: UInt64, level: UInt8
    ) {
        self.space = space
        self.isHighTier = isHighTier
        self.profile = profile
        self.compatibility = compatibility
        self.constraints = constraints
        self.level = level
    }

    /// The parameters of a codec string after the sample entry's type (ISO/IEC 14496-15 §E.3): `1.6.L93.B0`.
    package var codecText: String {
        let space = ["", "A", "B", "C"][Int(space & 3)]
        // Flag 31 first.
        var reversed: UInt32 = 0
        for bit in 0..<32 where compatibility & (1 << UInt32(bit)) != 0 {
            reversed |= 1 << UInt32(31 - bit)
        }
        var parts = [
            "\(space)\(profile)", Self.hexadecimal(reversed), "\(isHighTier ? "H" : "L")\(level)",
        ]
        var bytes = (0..<6).map { UInt8(truncatingIfNeeded: constraints >> (40 - 8 * UInt64($0))) }
        while bytes.last == 0 { bytes.removeLast() }
        parts += bytes.map { Self.hexadecimal(UInt32($0)) }
        return parts.joined(separator: ".")
    }

    private static func hexadecimal(_ value: UInt32) -> String {
        String(value, radix: 16, uppercase: true)
    }
}
