package import Media

/// A track to be written.
package struct ContainerTrack: Hashable, Sendable {
    /// Its codec, by FFmpeg's name, and the decoder's configuration.
    package var track: CodedTrack
    /// Of the packets' times.
    package var timescale: Timescale
    /// Audio frames at the start that are decoded but not presented, for containers with a field for it (Opus).
    package var primingFrames = 0

    package init(_ track: CodedTrack, timescale: Timescale, primingFrames: Int = 0) {
        self.track = track
        self.timescale = timescale
        self.primingFrames = primingFrames
    }

    /// A recording's track, in the timescale that recordings use for it.
    package init(_ format: TrackFormat) throws(ContainerError) {
        timescale = format.timescale
        do throws(BitstreamError) {
            track = try CodedTrack(format)
        } catch {
            throw .badTrack(codec: "\(format.kind)", reason: error.description)
        }
    }
}

extension CodedTrack {
    /// A recording's track, as its container would describe it.
    package init(_ format: TrackFormat) throws(BitstreamError) {
        switch format {
        case .h264(let format):
            let usability = try format.sequenceParameterSets.first.map {
                (set) throws(BitstreamError) in try SequenceParameterSet(parsing: set).usability
            }
            self.init(
                codec: "h264", codecTag: 0,
                configuration: try AVCDecoderConfiguration(format).bytes(),
                content: .picture(
                    Picture(
                        width: Int(format.width), height: Int(format.height), format: .yuv420p,
                        colour: usability??.colour, rate: nil, hasConstantRate: false,
                        sampleAspectRatio: format.pixelShape,
                        orientation: format.orientation)))
        case .aac(let format):
            self.init(
                codec: "aac", codecTag: 0, configuration: format.configuration,
                content: .sound(
                    CodedTrack.Audio(
                        sampleRate: Int(format.sampleRate), channels: Int(format.channels),
                        blockBytes: 0, bitsPerSample: 0, bitRate: 0)))
        }
    }
}
