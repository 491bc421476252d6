import Devices
import Encoding
import Glibc
import Media

/// Checks whether a box can run a capture: opens the same sources, encoders and connections one after the other, and records
/// nothing.
package struct Doctor: Sendable {
    private let capture: CaptureSettings
    private let uplink: UplinkSettings
    private let keySources: [String]

    /// Nothing is tried yet.
    /// - Parameter keySources: the sources that the box's key has to be authorised for; empty: this one.
    package init(capture: CaptureSettings, uplink: UplinkSettings, keySources: [String] = []) {
        self.capture = capture
        self.uplink = uplink
        self.keySources = keySources
    }

    /// Runs all checks; `found` receives each result at once. Blocks for some seconds.
    package func examine(found: (Diagnosis) -> Void) {
        let pipelines = openPipelines(found)
        let (finding, speed) = encoderSpeed(pipelines)
        if let finding { found(finding) }
        if let preview = previewSpeed(pipelines, source: speed) { found(preview) }
        found(SpoolCheck.look(at: uplink.spool, memoryLimitBytes: uplink.memoryLimitBytes))
        if let finding = PlacementCheck.look(at: uplink) { found(finding) }
        let findings = CollectorCheck.look(uplink, keySources: keySources, bitrate: bitrate)
        for finding in findings { found(finding) }
    }

    /// Bitrate of the capture, bits per second; nil if streams are not transcoded.
    private var bitrate: Int? {
        guard capture.encoder != .copy, !capture.isVideoCopied else { return nil }
        return (capture.video == nil ? 0 : capture.videoBitrate)
            + (capture.audio == nil ? 0 : capture.audioBitrate)
    }

    // MARK: Devices

    private func openPipelines(_ found: (Diagnosis) -> Void) -> [any CapturePipeline] {
        CodecLibrary.keepOffTerminal()
        var plans: [(name: String, plan: PipelinePlan)] = []
        do throws(CaptureError) {
            try capture.validate()
            for plan in try capture.pipelinePlans() { plans.append(("", plan)) }
            if let own = capture.ownPreview, !own.isSmallPreview {
                for plan in try own.pipelinePlans() { plans.append(("preview ", plan)) }
            }
        } catch {
            found(Diagnosis("capture", .problem, error.description))
            return []
        }
        var pipelines: [any CapturePipeline] = []
        for (name, plan) in plans {
            let subject = name + plan.kinds.map(\.description).joined(separator: " and ")
            let permission = plan.input.kind.permissions
            if case .open(let finding) = permission { found(finding) }
            do throws(CaptureError) {
                let pipeline = try plan.open()
                pipelines.append(pipeline)
                let lines = pipeline.notes + pipeline.details + pipeline.descriptions
                found(Diagnosis(subject, .ok, lines.joined(separator: "; ")))
            } catch {
                // One cause is one finding.
                if case .closed(let finding) = permission {
                    found(finding)
                } else {
                    found(Diagnosis(subject, .problem, error.description))
                }
            }
        }
        return pipelines
    }

    // MARK: The encoder

    /// Number of online processors.
    private var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// The source's encoder and its speed, in multiples of real time.
    private func encoderSpeed(
        _ pipelines: [any CapturePipeline]
    ) -> (finding: Diagnosis?, speed: Double?) {
        guard let pipeline = pipelines.first(where: { $0.encoder != nil }),
            let encoder = pipeline.encoder,
            case .video(let format) = pipeline.formats.first(where: { $0.kind == .video })
        else { return (nil, nil) }
        var settings = capture
        settings.video = .test
        settings.size = PictureSize(width: Int(format.width), height: Int(format.height))
        settings.crop = nil
        settings.encoder = .named(encoder)
        do {
            let plan = try settings.testPicturePlan()
            let speed = try EncoderSpeed.measure(plan)
            return (EncoderSpeed.judge(speed, plan, processors: processors), speed)
        } catch let error as CaptureError {
            return (Diagnosis("encoder", .problem, error.description), nil)
        } catch {
            return (Diagnosis("encoder", .problem, "\(error)"), nil)
        }
    }

    /// The encoder of a preview of the source's pictures; nil: none is wanted, or the source was not opened.
    private func previewSpeed(
        _ pipelines: [any CapturePipeline], source: Double?
    ) -> Diagnosis? {
        guard let own = capture.ownPreview, own.isSmallPreview,
            case .video(let format) = pipelines.flatMap(\.formats).first(where: {
                $0.kind == .video
            })
        else { return nil }
        do {
            let shape = PictureShape(format, durationNanoseconds: 0)
            let pictures = try LivePictures(try own.previewPlan(of: shape), for: own, late: nil)
            var plan = pictures.plan
            // The painted pictures have a minimum size, and any encoder is fast enough at it.
            if plan.size.width < TestPicture.minimumSize.width
                || plan.size.height < TestPicture.minimumSize.height
            {
                plan.size = TestPicture.minimumSize
            }
            let speed = try EncoderSpeed.measure(plan)
            return EncoderSpeed.judge(preview: speed, pictures.plan, source: source)
        } catch let error as CaptureError {
            return Diagnosis("preview", .problem, error.description)
        } catch {
            return Diagnosis("preview", .problem, "\(error)")
        }
    }
}
