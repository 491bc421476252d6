import Media
import Testing

struct NALUnitTests {
    private func units(_ bytes: [UInt8], lengthSize: Int = 4) throws -> [NALUnit] {
        var cursor = NALUnitCursor(lengthSize: lengthSize)
        var units: [NALUnit] = []
        while let unit = try cursor.next(in: bytes.span) { units.append(unit) }
        return units
    }

    @Test
    func `an access unit's NAL units are found with their types`() throws {
        let bytes: [UInt8] = [0, 0, 0, 2, 0x09, 0xF0, 0, 0, 0, 3, 0x65, 1, 2, 0, 0, 0, 1, 0x0C]
        let found = try units(bytes)
        #expect(found.map(\.h264Type) == [.accessUnitDelimiter, .idrSlice, .filler])
        #expect(found.map(\.range) == [4..<6, 10..<13, 17..<18])
        #expect(try nalUnitCount(in: bytes.span) == 3)
        let picture = try CodedPicture(of: bytes.span, .h264)
        #expect(picture.slices == 1)
        #expect(picture.accessPoint == .sync)
    }

    @Test
    func `a length past the end is reported with its place`() {
        #expect(throws: BitstreamError.nalUnitPastEnd(offset: 5, length: 4, available: 3)) {
            try units([0, 0, 0, 1, 0x41, 0, 0, 0, 4, 1, 2, 3])
        }
        #expect(
            throws: BitstreamError.nalUnitPastEnd(
                offset: 0, length: 0xFFFF_FFFF, available: 1)
        ) { try units([0xFF, 0xFF, 0xFF, 0xFF, 1]) }
    }

    @Test
    func `a length of zero and half a length are refused`() {
        #expect(throws: BitstreamError.emptyNALUnit(offset: 0)) { try units([0, 0, 0, 0]) }
        #expect(throws: BitstreamError.truncatedLength(offset: 5)) {
            try units([0, 0, 0, 1, 0x41, 0, 0])
        }
    }

    @Test(arguments: [1, 2, 3, 4])
    func `lengths of any size become lengths of four bytes`(_ size: Int) throws {
        let prefix = Array(repeating: UInt8(0), count: size - 1)
        let bytes = prefix + [2, 0x65, 7] + prefix + [1, 0x41]
        #expect(
            try withFourByteLengths(bytes.span, lengthSize: size)
                == [0, 0, 0, 2, 0x65, 7, 0, 0, 0, 1, 0x41])
    }
}

struct AnnexBTests {
    @Test
    func `start codes of three and four bytes and trailing zeros leave the NAL units alone`()
        throws
    {
        let stream: [UInt8] =
            [0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 2, 0, 0, 0, 0, 1, 0x65, 0, 0, 2, 0, 0]
        #expect(try AnnexB.nalUnits(in: stream.span).map(\.range) == [4..<6, 9..<11, 16..<20])
        var prefixed: [UInt8] = []
        try AnnexB.appendLengthPrefixed(stream.span, to: &prefixed)
        #expect(
            prefixed == [
                0, 0, 0, 2, 0x67, 1, 0, 0, 0, 2, 0x68, 2, 0, 0, 0, 4, 0x65, 0, 0, 2,
            ])
        var slices: [UInt8] = []
        try AnnexB.appendLengthPrefixed(stream.span, to: &slices) { $0.h264Type.isSlice }
        #expect(slices == [0, 0, 0, 4, 0x65, 0, 0, 2])
    }

    @Test
    func `conversion to Annex B and back gives the same bytes`() throws {
        var random = SplitMix(state: 7)
        for _ in 0..<200 {
            var accessUnit: [UInt8] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                // Without 00 00 0x inside or 00 at the end, as encoders ensure.
                let unit = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                    UInt8.random(in: 0...3, using: &random)
                }
                var clean: [UInt8] = [0x41]
                for byte in unit where !(byte < 4 && clean.suffix(2) == [0, 0]) {
                    clean.append(byte)
                }
                while clean.last == 0 { clean.removeLast() }
                appendLengthPrefixed(clean.span, to: &accessUnit)
            }
            let stream = try AnnexB.stream(fromLengthPrefixed: accessUnit.span)
            var again: [UInt8] = []
            try AnnexB.appendLengthPrefixed(stream.span, to: &again)
            #expect(again == accessUnit)
        }
    }

    @Test
    func `bytes other than a byte stream are refused`() {
        #expect(throws: BitstreamError.noStartCode(offset: 1)) {
            try AnnexB.nalUnits(in: ([0, 9, 0, 0, 1, 0x41] as [UInt8]).span)
        }
        #expect(throws: BitstreamError.noStartCode(offset: 0)) {
            try AnnexB.nalUnits(in: ([0, 0] as [UInt8]).span)
        }
    }
}

/// The same numbers for the same seed.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
