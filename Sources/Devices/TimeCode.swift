package import Media

/// The code in the test pattern's top eighth: a capture time that can be read from a decoded picture.
///
/// Two rows of 40 cells, left to right, top row first, black (Y = 16) for 0 and white (Y = 235) for 1: bits 0–7 are
/// 10101010, bits 8–71 the time in nanoseconds, most significant bit first, bits 72–79 its CRC-8 (polynomial 0x07,
/// start 0).
package struct TimeCode: Hashable, Sendable {
    package static let rows = 2
    package static let columns = 40
    /// Y of a 0 and of a 1.
    package static let luma: (zero: UInt8, one: UInt8) = (16, 235)
    private static let marker: UInt8 = 0b1010_1010

    /// Nanoseconds of the agent's `CLOCK_MONOTONIC`.
    package let captureNanoseconds: UInt64

    package init(captureNanoseconds: UInt64) {
        self.captureNanoseconds = captureNanoseconds
    }

    /// Reads the code from a picture's luma plane; nil when it is missing or damaged.
    package init?(readingLumaOf frame: RawFrame) {
        guard let luma = frame.planes.first else { return nil }
        var bytes = [UInt8](repeating: 0, count: 10)
        for bit in 0..<Self.rows * Self.columns {
            let cell = Self.cell(bit, width: frame.width, height: frame.height)
            let x = (cell.columns.lowerBound + cell.columns.upperBound) / 2
            let y = (cell.rows.lowerBound + cell.rows.upperBound) / 2
            let value = luma.baseAddress.load(
                fromByteOffset: y * luma.bytesPerRow + x, as: UInt8.self)
            if value >= 128 { bytes[bit / 8] |= 0x80 >> UInt8(bit % 8) }
        }
        let time = bytes[1...8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(captureNanoseconds: time)
        guard bytes == self.bytes else { return nil }
    }

    /// Marker, time, checksum: bit 0 is the first byte's most significant one.
    package var bytes: [UInt8] {
        let time = (0..<8).map { UInt8(truncatingIfNeeded: captureNanoseconds >> (56 - 8 * $0)) }
        return [Self.marker] + time + [Self.checksum(of: time)]
    }

    /// The pixels of the cell of bit 0 … 79.
    package static func cell(
        _ bit: Int, width: Int, height: Int
    ) -> (columns: Range<Int>, rows: Range<Int>) {
        let (row, column) = bit.quotientAndRemainder(dividingBy: columns)
        let band = height / 8
        return (
            column * width / columns..<(column + 1) * width / columns,
            row * band / rows..<(row + 1) * band / rows
        )
    }

    /// CRC-8, polynomial x⁸ + x² + x + 1, start 0.
    package static func checksum(of bytes: [UInt8]) -> UInt8 {
        var crc: UInt8 = 0
        for byte in bytes {
            crc ^= byte
            for _ in 0..<8 { crc = crc & 0x80 == 0 ? crc << 1 : crc << 1 ^ 0x07 }
        }
        return crc
    }
}
