import Archive
import Media
import TestRecordings
import Testing

@Suite struct SuspendedSegmenterTests {
    /// As a collector ends after SIGTERM, at any moment.
    @Test(arguments: [-150, 0, 350] as [Int64])
    func `a suspended segmenter writes everything except audio near a boundary`(
        lag: Int64
    ) {
        for batches in 1...60 {
            var camera = PlannedCamera(soundLagMilliseconds: lag)
            var segmenter = Segmenter(
                settings: SegmenterSettings(segmentNanoseconds: 2_000_000_000),
                formats: PlannedCamera.formats)
            var files = PlannedFiles()
            for index in 0..<batches {
                files.apply(
                    segmenter.add(
                        camera.batch(index), context: PlannedCamera.context,
                        now: Int64(index) * 100_000_000))
            }
            let finished = files.finished
            files.apply(segmenter.suspend())
            #expect(files.finished == finished)
            let missing = Set(1..<camera.sequence).subtracting(files.sequences)
            #expect(files.sequences.count == Set(files.sequences).count)
            if (1..<9).contains(batches % 20) {
                #expect(missing.isEmpty, "\(batches): \(missing)")
            }
            // No picture is left out, and no sound is in the file before its boundary.
            #expect(
                files.plans.keys.reduce(0) { $0 + files.samples($1, .video).count } == batches)
            for segment in files.plans.keys {
                let end = Int64(segment) * 2 * 48_000
                #expect(files.samples(segment, .audio).allSatisfy { $0.pts < end })
            }
        }
    }
}
