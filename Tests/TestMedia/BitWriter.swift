/// Assembles bits, so that tests can state a syntax table line by line.
package struct BitWriter {
    private var bits: [Bool] = []

    package init() {}

    package mutating func u(_ value: UInt32, _ count: Int) {
        for index in stride(from: count - 1, through: 0, by: -1) {
            bits.append(value >> UInt32(index) & 1 == 1)
        }
    }

    package mutating func ue(_ value: UInt32) {
        let code = UInt64(value) + 1
        let length = 64 - code.leadingZeroBitCount
        bits += Array(repeating: false, count: length - 1)
        for index in stride(from: length - 1, through: 0, by: -1) {
            bits.append(code >> UInt64(index) & 1 == 1)
        }
    }

    package mutating func se(_ value: Int32) {
        ue(value > 0 ? UInt32(2 * value - 1) : UInt32(-2 * value))
    }

    /// Zeros up to the next whole byte.
    package mutating func align() {
        while bits.count % 8 != 0 { bits.append(false) }
    }

    /// With the stop bit, padded to whole bytes, emulation prevention put in.
    package func nalUnit(header: UInt8...) -> [UInt8] {
        var padded = bits + [true]
        padded += Array(repeating: false, count: (8 - padded.count % 8) % 8)
        var result = header
        var zeros = 0
        for start in stride(from: 0, to: padded.count, by: 8) {
            let byte = padded[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
            if zeros >= 2, byte <= 3 {
                result.append(3)
                zeros = 0
            }
            zeros = byte == 0 ? zeros + 1 : 0
            result.append(byte)
        }
        return result
    }

    /// Padded to whole bytes with zeros.
    package var bytes: [UInt8] {
        let padded = bits + Array(repeating: false, count: (8 - bits.count % 8) % 8)
        return stride(from: 0, to: padded.count, by: 8).map { start in
            padded[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
    }
}
