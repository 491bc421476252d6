import Media
import Testing

@testable import MP4

/// Picture orientation: from a format into `tkhd`, and back.
@Suite struct OrientationTests {
    static let all = PictureOrientation.Rotation.allCases.flatMap { rotation in
        [false, true].map { PictureOrientation(rotation: rotation, isMirrored: $0) }
    }

    /// The display position of a pixel of a 4×2 picture.
    private func place(_ p: Int64, _ q: Int64, _ values: [UInt32]) -> [Int64] {
        let signed = values.map { Int64(Int32(bitPattern: $0)) }
        return [
            (signed[0] * p + signed[3] * q + signed[6]) >> 16,
            (signed[1] * p + signed[4] * q + signed[7]) >> 16,
        ]
    }

    @Test func `corners are mapped by the display matrix`() {
        func corners(_ orientation: PictureOrientation) -> [[Int64]] {
            let values = DisplayMatrix(orientation, width: 4 << 16, height: 2 << 16).values
            return [(0, 0), (4, 0), (4, 2), (0, 2)].map { place($0.0, $0.1, values) }
        }
        let upright: [[Int64]] = [[0, 0], [4, 0], [4, 2], [0, 2]]
        #expect(corners(.upright) == upright)
        // Clockwise: the upper left corner is now at the upper right, of a picture of 2×4.
        #expect(corners(.init(rotation: .quarter)) == [[2, 0], [2, 4], [0, 4], [0, 0]])
        #expect(corners(.init(rotation: .half)) == [[4, 2], [0, 2], [0, 0], [4, 0]])
        #expect(corners(.init(rotation: .threeQuarters)) == [[0, 4], [0, 0], [2, 0], [2, 4]])
        #expect(corners(.init(isMirrored: true)) == [[4, 0], [0, 0], [0, 2], [4, 2]])
        #expect(
            corners(.init(rotation: .quarter, isMirrored: true))
                == [[2, 4], [2, 0], [0, 0], [0, 4]])
    }

    @Test(arguments: all)
    func `a recording has its orientation while growing and when finished`(
        orientation: PictureOrientation
    ) throws {
        var clip = Clip.handmade()
        guard case .video(var format) = clip.tracks[0].format else { return }
        format.orientation = orientation
        clip.tracks[0].format = .video(format)
        let recorder = try Recorder(clip)
        for bytes in [recorder.bytes, try recorder.finished()] {
            let track = try #require(
                try Movie.read(from: MemorySource(bytes)).track(.video))
            #expect(track.orientation == orientation)
            #expect(track.format == .video(format))
        }
    }

    @Test func `a matrix that is something else counts as upright`() {
        #expect(DisplayMatrix.orientation(of: [1, 2, 0, 3, 4, 0, 0, 0, 0x4000_0000]) == nil)
        #expect(DisplayMatrix.orientation(of: []) == nil)
    }
}
