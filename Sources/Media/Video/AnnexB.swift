/// The byte stream format of ISO/IEC 14496-10 Annex B: NAL units after start codes `00 00 01`.
package enum AnnexB {
    /// Finds the NAL units, in order: 3- and 4-byte start codes; trailing zeros and empty units are skipped.
    ///
    /// - Throws: ``BitstreamError/noStartCode(offset:)`` when the first start code is missing, or preceded by bytes
    ///   other than zero.
    package static func nalUnits(in stream: Span<UInt8>) throws(BitstreamError) -> [NALUnit] {
        var units: [NALUnit] = []
        var start = try firstUnit(in: stream)
        while let begin = start {
            let next = startCode(in: stream, from: begin)
            var end = next ?? stream.count
            // A NAL unit never ends in a zero byte (§7.4.1): those belong to the next start code or to padding.
            while end > begin, stream[end - 1] == 0 { end -= 1 }
            if end > begin {
                units.append(NALUnit(in: stream, range: begin..<end))
            }
            start = next.map { $0 + 3 }
        }
        return units
    }

    /// Appends the NAL units that `isWanted` accepts as an access unit with 4-byte lengths.
    package static func appendLengthPrefixed(
        _ stream: Span<UInt8>, to output: inout [UInt8],
        where isWanted: (NALUnit) -> Bool = { _ in true }
    ) throws(BitstreamError) {
        for unit in try nalUnits(in: stream) where isWanted(unit) {
            Media.appendLengthPrefixed(stream.extracting(unit.range), to: &output)
        }
    }

    /// An access unit with `lengthSize`-byte lengths as a byte stream with 4-byte start codes.
    package static func stream(
        fromLengthPrefixed accessUnit: Span<UInt8>, lengthSize: Int = 4
    ) throws(BitstreamError) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(accessUnit.count + 16)
        var cursor = NALUnitCursor(lengthSize: lengthSize)
        while let unit = try cursor.next(in: accessUnit) {
            result.append(contentsOf: [0, 0, 0, 1])
            accessUnit.extracting(unit.range).withUnsafeBufferPointer {
                result.append(contentsOf: $0)
            }
        }
        return result
    }

    /// The byte after the first start code.
    private static func firstUnit(in stream: Span<UInt8>) throws(BitstreamError) -> Int? {
        guard let code = startCode(in: stream, from: 0) else {
            throw .noStartCode(offset: 0)
        }
        for index in 0..<code where stream[index] != 0 {
            throw .noStartCode(offset: index)
        }
        return code + 3
    }

    /// The position of the next `00 00 01` at or after `from`.
    private static func startCode(in stream: Span<UInt8>, from: Int) -> Int? {
        stream.withUnsafeBufferPointer { bytes in
            // Checking every third byte suffices: its value gives the distance to the next candidate.
            var index = from + 2
            while index < bytes.count {
                let byte = bytes[index]
                if byte > 1 {
                    index += 3
                } else if byte == 0 {
                    index += 1
                } else if bytes[index - 1] == 0, bytes[index - 2] == 0 {
                    return index - 2
                } else {
                    index += 3
                }
            }
            return nil
        }
    }
}
