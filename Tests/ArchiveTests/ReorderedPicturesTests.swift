import Archive
import Media
import TestMedia
import TestRecordings
import Testing

/// Pictures that are decoded before they are presented, in files that begin with sound.
struct ReorderedPicturesTests {
    /// Sound of 1.5 s arrives, then a group of pictures whose decoding times precede the presentation times.
    private func recordAfterSound(_ video: TrackFormat, leadTicks: Int64) -> PlannedFiles {
        var camera = PlannedCamera()
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 10_000_000_000),
            formats: [video, PlannedCamera.formats[1]])
        var files = PlannedFiles()
        var pictures: [PlannedPiece] = []
        for index in 0..<30 {
            let parts = camera.batch(index).byTrack
            for part in parts where part.runs[0].track == .audio {
                files.apply(segmenter.add(part, context: PlannedCamera.context, now: 0))
            }
            for var part in parts where part.runs[0].track == .video {
                part.runs[0].samples[0].dts -= leadTicks
                pictures.append(part)
            }
            guard index >= 15 else { continue }
            for piece in pictures {
                files.apply(segmenter.add(piece, context: PlannedCamera.context, now: 0))
            }
            pictures = []
        }
        files.apply(segmenter.end())
        return files
    }

    @Test func `reordered pictures after a second of audio are in its file`() {
        let format = TrackFormat.video(
            VideoFormat(.h265, parameterSets: H265Stream.sets, width: 64, height: 64))
        let files = recordAfterSound(format, leadTicks: 18_000)
        #expect(files.plans.count == 1)
        #expect(files.samples(1, .video).count == 30)
        // Half a second for each picture that may be reordered.
        #expect(files.plans[1]?.tracks.first?.shiftTicks == 45_000)
        files.expectNothingHidden()
    }

    @Test func `pictures that need more room begin a file, with those that depend on them`() {
        let files = recordAfterSound(PlannedCamera.formats[0], leadTicks: 18_000)
        #expect(files.plans.count == 2)
        #expect(files.samples(1, .video).isEmpty)
        #expect(files.samples(2, .video).count == 30)
        files.expectNothingHidden()
    }
}
