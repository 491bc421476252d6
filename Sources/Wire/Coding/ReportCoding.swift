import Media
import SwiftProtobuf

extension Report {
    func encoded() -> Tributary_V1_Report {
        var message = Tributary_V1_Report()
        message.id = id
        message.source = UInt32(source)
        switch reply {
        case .failure(let failure, let text):
            message.failure = .with {
                $0.reason = .init(rawValue: failure.rawValue) ?? .failureReasonUnspecified
                $0.text = printable(text)
            }
        case .status(let status): message.status = status.encoded()
        case .controls(let controls):
            message.controls = .with { $0.controls = controls.map { $0.encoded() } }
        case .keyframeRequested: message.keyframe = Tributary_V1_KeyframeRequested()
        case .snapshot(let snapshot):
            message.snapshot = .with {
                $0.width = snapshot.width
                $0.height = snapshot.height
                $0.captured = snapshot.captureNanoseconds
                $0.sizeBytes = UInt32(clamping: snapshot.sizeBytes)
            }
        case .unknown: break
        }
        return message
    }

    init(decoding message: Tributary_V1_Report) throws(WireError) {
        id = message.id
        source = try FieldChecks.sourceIndex(message.source, "Report.source")
        switch message.report {
        case .failure(let failure):
            reply = .failure(
                CommandFailure(rawValue: failure.reason.rawValue) ?? .other,
                try FieldChecks.text(failure.text, "CommandFailure.text"))
        case .status(let status): reply = .status(try CaptureStatus(decoding: status))
        case .controls(let message):
            try FieldChecks.count(
                message.controls.count, "DeviceControls.controls",
                0...WireLimits.controlsPerMessage)
            var controls: [DeviceControl] = []
            for control in message.controls {
                controls.append(try DeviceControl(decoding: control))
            }
            reply = .controls(controls)
        case .keyframe: reply = .keyframeRequested
        case .snapshot(let snapshot):
            reply = .snapshot(try SnapshotDescription(decoding: snapshot))
        case nil: reply = .unknown
        }
    }
}

extension SnapshotDescription {
    fileprivate init(decoding message: Tributary_V1_Snapshot) throws(WireError) {
        guard (1...UInt32(WireLimits.snapshotBytes)).contains(message.sizeBytes) else {
            throw .limit(
                "Snapshot.size_bytes is \(message.sizeBytes); 1 to "
                    + "\(WireLimits.snapshotBytes) are allowed")
        }
        guard message.width <= WireLimits.pictureSide, message.height <= WireLimits.pictureSide
        else { throw .limit("a snapshot of \(message.width)×\(message.height)") }
        self.init(
            width: message.width, height: message.height,
            captureNanoseconds: try FieldChecks.time(message.captured, "Snapshot.captured"),
            sizeBytes: Int(message.sizeBytes))
    }
}

extension CaptureStatus {
    fileprivate func encoded() -> Tributary_V1_CaptureStatus {
        .with {
            $0.capturing = isCapturing
            $0.video = video
            $0.audio = audio
            $0.descriptions = descriptions.map { printable($0) }
            if let size { $0.size = size.encoded() }
            $0.videoBitrate = videoBitrate
            if let crop { $0.crop = crop.encoded() }
            $0.rotation = UInt32(orientation.rotation.rawValue)
            $0.mirrored = orientation.isMirrored
            $0.pictures = pictures
            $0.soundPackets = soundPackets
            $0.lostSamples = lostSamples
            $0.keptBytes = keptBytes
            $0.connected = isConnected
            $0.software = software
            $0.collector = printable(collector)
            $0.moved = printable(moved)
            $0.held = held.sorted { $0.key < $1.key }.prefix(WireLimits.heldRanges).map { held in
                .with {
                    $0.collector = printable(held.key, limit: WireLimits.labelBytes)
                    $0.records = held.value
                }
            }
            if let second {
                $0.second = .with {
                    $0.endpoint = printable(second.endpoint)
                    $0.connected = second.isConnected
                    $0.trouble = printable(second.trouble)
                }
            }
            $0.owed = owed.prefix(WireLimits.owedCollectors).map { owed in
                .with {
                    $0.collector = printable(owed.collector, limit: WireLimits.labelBytes)
                    $0.records = owed.records
                    $0.bytes = owed.bytes
                }
            }
            if let lastsSeconds { $0.lastsSeconds = lastsSeconds }
            $0.trouble = printable(trouble)
            if let retrySeconds { $0.retrySeconds = retrySeconds }
        }
    }

    fileprivate init(decoding message: Tributary_V1_CaptureStatus) throws(WireError) {
        self.init()
        isCapturing = message.capturing
        video = try FieldChecks.argument(message.video, "CaptureStatus.video")
        audio = try FieldChecks.argument(message.audio, "CaptureStatus.audio")
        try FieldChecks.count(
            message.descriptions.count, "CaptureStatus.descriptions",
            0...WireLimits.descriptionsPerStatus)
        for line in message.descriptions {
            descriptions.append(try FieldChecks.text(line, "CaptureStatus.descriptions"))
        }
        if message.hasSize {
            size = try PictureSize(decoding: message.size, "CaptureStatus.size")
        }
        videoBitrate = message.videoBitrate
        if message.hasCrop {
            crop = try PictureCrop(decoding: message.crop, "CaptureStatus.crop")
        }
        orientation = PictureOrientation(
            rotation: try PictureOrientation.Rotation(decoding: message.rotation),
            isMirrored: message.mirrored)
        pictures = message.pictures
        soundPackets = message.soundPackets
        lostSamples = message.lostSamples
        keptBytes = message.keptBytes
        isConnected = message.connected
        software = try FieldChecks.text(
            message.software, "CaptureStatus.software", limit: WireLimits.labelBytes)
        collector = try FieldChecks.text(message.collector, "CaptureStatus.collector")
        moved = try FieldChecks.text(message.moved, "CaptureStatus.moved")
        try FieldChecks.count(
            message.held.count, "CaptureStatus.held", 0...WireLimits.heldRanges)
        for entry in message.held {
            let name = try FieldChecks.text(
                entry.collector, "HeldCount.collector", limit: WireLimits.labelBytes)
            held[name] = entry.records
        }
        if message.hasSecond {
            second = SecondCollector(
                endpoint: try FieldChecks.text(
                    message.second.endpoint, "SecondCollector.endpoint"),
                isConnected: message.second.connected,
                trouble: try FieldChecks.text(message.second.trouble, "SecondCollector.trouble"))
        }
        try FieldChecks.count(
            message.owed.count, "CaptureStatus.owed", 0...WireLimits.owedCollectors)
        for entry in message.owed {
            owed.append(
                OwedRecords(
                    collector: try FieldChecks.text(
                        entry.collector, "OwedCount.collector", limit: WireLimits.labelBytes),
                    records: entry.records, bytes: entry.bytes))
        }
        if message.hasLastsSeconds { lastsSeconds = message.lastsSeconds }
        trouble = try FieldChecks.text(message.trouble, "CaptureStatus.trouble")
        if message.hasRetrySeconds { retrySeconds = message.retrySeconds }
    }
}

extension DeviceControl {
    fileprivate func encoded() -> Tributary_V1_DeviceControl {
        .with {
            $0.name = printable(name, limit: WireLimits.labelBytes)
            $0.label = printable(label, limit: WireLimits.labelBytes)
            $0.kind = .init(rawValue: kind.rawValue) ?? .unspecified
            $0.minimum = range.lowerBound
            $0.maximum = range.upperBound
            $0.step = step
            $0.defaultValue = defaultValue
            $0.value = value
            $0.choices = choices.prefix(WireLimits.choicesPerControl).map { choice in
                .with {
                    $0.value = choice.value
                    $0.label = printable(choice.label, limit: WireLimits.labelBytes)
                }
            }
            $0.inactive = isInactive
            $0.readOnly = isReadOnly
        }
    }

    fileprivate init(decoding message: Tributary_V1_DeviceControl) throws(WireError) {
        guard message.minimum <= message.maximum else {
            throw .malformed(
                "DeviceControl goes from \(message.minimum) down to \(message.maximum)")
        }
        self.init(
            name: try FieldChecks.text(
                message.name, "DeviceControl.name", limit: WireLimits.labelBytes),
            label: try FieldChecks.text(
                message.label, "DeviceControl.label", limit: WireLimits.labelBytes),
            kind: Kind(rawValue: message.kind.rawValue) ?? .other,
            range: message.minimum...message.maximum, step: message.step,
            defaultValue: message.defaultValue, value: message.value)
        try FieldChecks.count(
            message.choices.count, "DeviceControl.choices", 0...WireLimits.choicesPerControl)
        for choice in message.choices {
            choices.append(
                Choice(
                    value: choice.value,
                    label: try FieldChecks.text(
                        choice.label, "Choice.label", limit: WireLimits.labelBytes)))
        }
        isInactive = message.inactive
        isReadOnly = message.readOnly
    }
}
