import Archive
import Media
import TestRecordings
import Testing

struct `The room for fragments` {
    @Test func `a fragment ends before it exceeds the room`() {
        var camera = PlannedCamera(keyframeEvery: 100)
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 600_000_000_000),
            formats: PlannedCamera.formats)
        // A picture has 10 bytes and a packet 4, four or five packets to a picture: two pieces are 52 to 60 bytes.
        segmenter.roomBytes = 60
        var files = PlannedFiles()
        for index in 0..<50 {
            files.apply(
                segmenter.add(
                    camera.batch(index), context: PlannedCamera.context,
                    now: Int64(index) * 100_000_000))
            #expect(segmenter.pendingAmount.sizeBytes <= 60)
        }
        files.apply(segmenter.end())
        #expect(files.fragments[1]?.allSatisfy { $0.pieces.count == 2 } == true)
        #expect(files.samples(1, .video).count == 50)
    }

    @Test func `a piece that is larger than the room is a fragment by itself`() {
        var camera = PlannedCamera(keyframeEvery: 100)
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 600_000_000_000),
            formats: PlannedCamera.formats)
        segmenter.roomBytes = 1
        var files = PlannedFiles()
        for index in 0..<5 {
            files.apply(
                segmenter.add(
                    camera.batch(index), context: PlannedCamera.context,
                    now: Int64(index) * 100_000_000))
        }
        files.apply(segmenter.end())
        #expect(files.fragments[1]?.count == 5)
    }
}
