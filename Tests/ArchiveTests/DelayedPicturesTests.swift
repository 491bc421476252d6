import Archive
import Media
import TestRecordings
import Testing

/// Pictures that are late, so that sound is ahead of them.
@Suite struct DelayedPicturesTests {
    /// An encoder that looks ahead delivers pictures later than sound, and not steadily.
    @Test func `sound that waits for delayed pictures is in the file of its time`() {
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 2_000_000_000),
            formats: PlannedCamera.formats)
        var files = PlannedFiles()
        var camera = PlannedCamera(soundLagMilliseconds: -2_700)
        for index in 0..<65 {
            let now = Int64(index) * 100_000_000
            // A message for each track, sound first.
            files.apply(segmenter.tick(now: now))
            let parts = camera.batch(index).byTrack
            for piece in parts {
                files.apply(
                    segmenter.add(piece, context: PlannedCamera.context, now: now))
            }
        }
        files.apply(segmenter.end())
        // The first file begins with all sound before the first picture.
        for segment in 2...3 {
            let end = Int64(segment) * 2 * 48_000
            #expect(files.samples(segment, .audio).allSatisfy { $0.pts < end })
            #expect(files.samples(segment, .audio).allSatisfy { $0.duration == 1_024 })
        }
    }
}
