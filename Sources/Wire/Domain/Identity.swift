/// Sixteen bytes that tell two spools, or two boots of a box, apart.
package struct Identity: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Takes over exactly 16 bytes; nil for any other number.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == WireLimits.identityBytes else { return nil }
        var words: [UInt64] = [0, 0]
        for (index, byte) in bytes.enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        (high, low) = (words[0], words[1])
    }

    /// A new identity that no other has.
    package static func random(
        using generator: inout some RandomNumberGenerator
    ) -> Identity {
        Identity(high: generator.next(), low: generator.next())
    }

    /// A new identity out of the system's randomness.
    package static func random() -> Identity {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// The bytes as they travel.
    package var bytes: [UInt8] {
        [high, low].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
        }
    }

    /// 32 hexadecimal digits.
    package var description: String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}
