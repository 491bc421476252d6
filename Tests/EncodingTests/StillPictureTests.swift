import Devices
import Encoding
import Media
import Testing

@Suite struct StillPictureTests {
    private func frame(_ size: PictureSize = PictureSize(width: 640, height: 360)) -> RawFrame {
        var painter = TestPicture(size: size, sourceName: "still", utcOffsetNanoseconds: 0)
        return painter.paint(
            number: 3, captureNanoseconds: 123_456_789, durationNanoseconds: 33_333_333)
    }

    private func decode(_ jpeg: [UInt8]) throws -> RawFrame {
        let track = CodedTrack(
            codec: "mjpeg", codecTag: 0, configuration: [],
            content: .picture(
                CodedTrack.Picture(
                    width: 0, height: 0, format: nil, colour: nil, rate: nil,
                    hasConstantRate: false, sampleAspectRatio: nil)))
        var decoder = try VideoDecoder(track)
        var frames: [RawFrame] = []
        try decoder.decode(SampleReader.packet(.video, jpeg, pts: 0)) { frames.append($0) }
        try decoder.finish { frames.append($0) }
        return try #require(frames.first)
    }

    private func luma(_ frame: RawFrame, _ x: Int, _ y: Int) -> Int {
        withExtendedLifetime(frame.owner) {
            Int(
                frame.planes[0].baseAddress.load(
                    fromByteOffset: y * frame.planes[0].bytesPerRow + x, as: UInt8.self))
        }
    }

    @Test func `a JPEG shows the picture, with all of the levels`() throws {
        let picture = frame()
        let jpeg = try StillPicture.encode(picture, as: .jpeg, maximumBytes: 1 << 20)
        #expect(jpeg.prefix(2) == [0xFF, 0xD8] && jpeg.suffix(2) == [0xFF, 0xD9])
        let decoded = try decode(jpeg)
        #expect((decoded.width, decoded.height) == (640, 360))
        // The code's first row begins 1 0 1 0: white is 255 in a JPEG, black 0.
        #expect(luma(decoded, 8, 10) > 245)
        #expect(luma(decoded, 24, 10) < 10)
    }

    @Test func `a JPEG is turned as players turn the recording`() throws {
        let picture = frame()
        func corner(_ orientation: PictureOrientation, _ x: Int, _ y: Int) throws -> Int {
            let decoded = try decode(
                try StillPicture.encode(
                    picture, as: .jpeg, orientation: orientation, maximumBytes: 1 << 20))
            return luma(decoded, x, y)
        }
        // The white cell of the upper left corner, and the black one to its right.
        #expect(try corner(.init(rotation: .quarter), 350, 8) > 245)
        #expect(try corner(.init(rotation: .quarter), 350, 24) < 10)
        #expect(try corner(.init(rotation: .half), 632, 350) > 245)
        #expect(try corner(.init(rotation: .half), 616, 350) < 10)
        #expect(try corner(.init(rotation: .threeQuarters), 10, 632) > 245)
        #expect(try corner(.init(rotation: .threeQuarters), 10, 616) < 10)
        #expect(try corner(.init(isMirrored: true), 632, 10) > 245)
        #expect(try corner(.init(isMirrored: true), 616, 10) < 10)
        #expect(try corner(.init(rotation: .quarter, isMirrored: true), 350, 632) > 245)
        #expect(try corner(.init(rotation: .quarter, isMirrored: true), 350, 616) < 10)
    }

    @Test func `a JPEG is at most the maximum size, and encoding fails if it cannot be`() throws {
        let picture = frame()
        let best = try StillPicture.encode(picture, as: .jpeg, maximumBytes: 1 << 20)
        let small = try StillPicture.encode(picture, as: .jpeg, maximumBytes: best.count - 1)
        #expect(small.count < best.count)
        #expect(throws: EncodingError.self) {
            _ = try StillPicture.encode(picture, as: .jpeg, maximumBytes: 1_000)
        }
    }
}
