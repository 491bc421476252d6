import Media

/// For a preview only: the pictures of its source, scaled to fit into a box, at most 15 per second.
struct SmallInput: CaptureInputKind {
    static let options: Set<InputOption> = [.preview]
    private static let word = "small"
    /// Sides of the box for a preview: smaller ones show nothing, larger ones are no preview.
    private static let sides = 64...1920

    let box: PictureSize

    init?(_ argument: String, _ option: InputOption) throws(CaptureError) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == Self.word else { return nil }
        guard parts.count == 2 else {
            box = CaptureSettings.smallBox
            return
        }
        let sides = parts[1].split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = Int(sides[0]), let height = Int(sides[1]),
            Self.sides.contains(width), Self.sides.contains(height)
        else {
            throw .settings(
                "--preview small: '\(parts[1])' is not a size: use small:WIDTHxHEIGHT, such as small:480x480, numbers from "
                    + "\(Self.sides.lowerBound) to \(Self.sides.upperBound)")
        }
        box = PictureSize(width: width, height: height)
    }

    var argument: String {
        box == CaptureSettings.smallBox ? Self.word : "\(Self.word):\(box.width)x\(box.height)"
    }

    func validate(_ settings: CaptureSettings, _ option: InputOption) throws(CaptureError) {
        if option == .preview, settings.video == nil {
            throw .settings("--preview small needs pictures, but --video is none: leave it out")
        }
    }

    func prepare(_ preview: inout CaptureSettings, of source: CaptureSettings) {
        // The preview ends with its source, and gets the source's pictures without delay.
        preview.duration = nil
        preview.loop = false
        preview.late = .drop
        preview.encoderCandidates = source.encoderCandidates
        // More threads need more time in total, and one is fast enough. It has the priority of the preview.
        preview.encoderThreads = 1
        preview.videoBitrate = min(source.videoBitrate, CaptureSettings.smallBitrate)
    }

    func open(
        _ plan: PipelinePlan, _ opening: PipelineOpening
    ) throws(CaptureError) -> any CapturePipeline {
        try opening.shared(plan.settings)
    }
}
