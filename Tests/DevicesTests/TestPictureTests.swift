import Devices
import Media
import Testing

@Suite struct TestPictureTests {
    @Test func `the code is the marker, the time and its checksum`() {
        let code = TimeCode(captureNanoseconds: 0x0123_4567_89AB_CDEF)
        #expect(
            code.bytes.prefix(9) == [0xAA, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF])
        // The check value that catalogues of CRCs give for this polynomial.
        #expect(TimeCode.checksum(of: Array("123456789".utf8)) == 0xF4)
    }

    @Test func `the cells cover the top eighth without gap or overlap`() {
        for size in [PictureSize(width: 1280, height: 720), PictureSize(width: 166, height: 98)] {
            var covered = Set<Int>()
            for bit in 0..<80 {
                let cell = TimeCode.cell(bit, width: size.width, height: size.height)
                for y in cell.rows {
                    for x in cell.columns {
                        #expect(covered.insert(y * size.width + x).inserted)
                    }
                }
            }
            #expect(covered.count == size.width * (size.height / 8))
            #expect(covered.max() == size.width * (size.height / 8) - 1)
        }
    }

    @Test(arguments: [(1280, 720), (640, 480), (160, 90), (322, 182), (1920, 1080)])
    func `every picture shows its own capture time in pure black and white`(
        width: Int, height: Int
    ) {
        var painter = TestPicture(
            size: PictureSize(width: width, height: height), sourceName: "front_door-2.left",
            utcOffsetNanoseconds: 1_700_000_000_000_000_000)
        for number in 0..<50 as Range<Int64> {
            let time = 987_654_321_000 + number * 33_333_333
            let frame = painter.paint(
                number: number, captureNanoseconds: time, durationNanoseconds: 33_333_333)
            #expect(
                TimeCode(readingLumaOf: frame)
                    == TimeCode(captureNanoseconds: UInt64(time)))
            let first = TimeCode.cell(0, width: width, height: height)
            let luma = frame.planes[0]
            for x in first.columns {
                #expect(luma.baseAddress.load(fromByteOffset: x, as: UInt8.self) == 235)
            }
            let chroma = frame.planes[1].baseAddress.load(as: UInt8.self)
            #expect(chroma == 128)
        }
    }

    @Test func `a picture in use is not painted over`() {
        var painter = TestPicture(
            size: PictureSize(width: 320, height: 180), sourceName: "a", utcOffsetNanoseconds: 0)
        let held = (0..<5).map { (number: Int64) in
            painter.paint(
                number: number, captureNanoseconds: number * 1_000_003, durationNanoseconds: 1)
        }
        for (number, frame) in held.enumerated() {
            #expect(
                TimeCode(readingLumaOf: frame)?.captureNanoseconds == UInt64(number) * 1_000_003)
        }
    }

    @Test func `pictures move, and a reused buffer keeps nothing of the earlier picture`() {
        let size = PictureSize(width: 320, height: 180)
        func painter() -> TestPicture {
            TestPicture(size: size, sourceName: "a", utcOffsetNanoseconds: 0)
        }
        var reused = painter()
        for number in 0..<20 as Range<Int64> {
            _ = reused.paint(
                number: number, captureNanoseconds: number * 123_456_789, durationNanoseconds: 1)
        }
        var fresh = painter()
        let time: Int64 = 7_777_777_777
        let one = pixels(
            reused.paint(number: 63, captureNanoseconds: time, durationNanoseconds: 1))
        let other = pixels(
            fresh.paint(number: 63, captureNanoseconds: time, durationNanoseconds: 1))
        #expect(one == other)
        let later = pixels(
            fresh.paint(
                number: 63, captureNanoseconds: time + 100_000_000, durationNanoseconds: 1))
        let half = size.width * size.height * 5 / 8
        #expect(other[half...] != later[half...])
    }

    /// Luma and both chroma planes without padding.
    private func pixels(_ frame: RawFrame) -> [UInt8] {
        var result: [UInt8] = []
        for (index, plane) in frame.planes.enumerated() {
            let shift = index == 0 ? 0 : 1
            for row in 0..<frame.height >> shift {
                result += UnsafeRawBufferPointer(
                    start: plane.baseAddress + row * plane.bytesPerRow, count: frame.width >> shift)
            }
        }
        return withExtendedLifetime(frame.owner) { result }
    }
}
