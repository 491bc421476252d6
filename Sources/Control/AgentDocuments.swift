import Media
package import Wire

/// An agent's status as JSON: `tributary agent status` in `proto/json/schema.json`.
package struct CaptureStatusDocument: Encodable {
    struct Crop: Encodable {
        var x: Int
        var y: Int
        var width: Int
        var height: Int
    }

    struct Second: Encodable {
        var collector: String
        var isConnected: Bool
        var trouble: String?
    }

    struct Owed: Encodable {
        var collector: String
        var records: UInt64
        var bytes: UInt64
    }

    var source: String
    var isCapturing: Bool
    var isConnected: Bool
    var video: String
    var audio: String
    var descriptions: [String]
    var width: Int?
    var height: Int?
    var videoBitsPerSecond: UInt64
    var crop: Crop?
    var rotation: Int
    var isMirrored: Bool
    var pictures: UInt64
    var soundPackets: UInt64
    var lostSamples: UInt64
    var keptBytes: UInt64
    var software: String
    var collector: String
    var moved: String?
    var held: [String: UInt64]
    var second: Second?
    var owed: [Owed]
    var lastsSeconds: UInt64?
    var trouble: String?
    var retrySeconds: UInt64?

    package init(_ status: CaptureStatus, of source: String) {
        self.source = source
        isCapturing = status.isCapturing
        isConnected = status.isConnected
        collector = status.collector
        moved = status.moved.isEmpty ? nil : status.moved
        held = status.held
        second = status.second.map {
            Second(
                collector: $0.endpoint, isConnected: $0.isConnected,
                trouble: $0.trouble.isEmpty ? nil : $0.trouble)
        }
        owed = status.owed.map {
            Owed(collector: $0.collector, records: $0.records, bytes: $0.bytes)
        }
        lastsSeconds = status.lastsSeconds
        trouble = status.trouble.isEmpty ? nil : status.trouble
        retrySeconds = status.retrySeconds
        video = status.video
        audio = status.audio
        descriptions = status.descriptions
        width = status.size?.width
        height = status.size?.height
        videoBitsPerSecond = status.videoBitrate
        crop = status.crop.map {
            Crop(x: $0.x, y: $0.y, width: $0.size.width, height: $0.size.height)
        }
        rotation = status.orientation.rotation.rawValue
        isMirrored = status.orientation.isMirrored
        pictures = status.pictures
        soundPackets = status.soundPackets
        lostSamples = status.lostSamples
        keptBytes = status.keptBytes
        software = status.software
    }
}

/// A camera's control as JSON: `tributary agent controls` in `proto/json/schema.json`.
package struct DeviceControlDocument: Encodable {
    struct Choice: Encodable {
        var value: Int64
        var label: String
    }

    var name: String
    var label: String
    var kind: String
    var minimum: Int64
    var maximum: Int64
    var step: Int64
    var defaultValue: Int64
    var value: Int64
    var choices: [Choice]
    var isInactive: Bool
    var isReadOnly: Bool

    package init(_ control: DeviceControl) {
        name = control.name
        label = control.label
        kind = "\(control.kind)"
        minimum = control.range.lowerBound
        maximum = control.range.upperBound
        step = control.step
        defaultValue = control.defaultValue
        value = control.value
        choices = control.choices.map { Choice(value: $0.value, label: $0.label) }
        isInactive = control.isInactive
        isReadOnly = control.isReadOnly
    }
}
