import Archive
package import Devices
package import Encoding
import Glibc
import Media

/// The reason why a recording could not be measured.
package enum SyncCheckError: Error, Hashable, CustomStringConvertible {
    /// The file cannot be opened or read, or has no usable track.
    case unreadable(DeviceError)
    /// There is no decoder for its codec.
    case undecodable(path: String, EncodingError)

    package var description: String {
        switch self {
        case .unreadable(let error): error.description
        case .undecodable(let path, let error): "cannot decode \(path): \(error)"
        }
    }
}

/// Decodes a file and collects the times of its pictures and beeps.
///
/// The file is read as a player reads it, by libavformat and libavcodec. The recorder's own reader is not used, so that an error
/// that it shares with the writer is found. The libraries get an open file and no path: an archive is untrusted.
package struct RecordingReader: ~Copyable {
    /// Formats whose first plane is luma, a byte per pixel.
    private static let lumaFormats: Set<String> = [
        "yuv420p", "nv12", "nv21", "yuv422p", "yuv444p", "yuvj422p", "yuvj444p", "gray",
    ]

    private let path: String
    private let originNanoseconds: Int64
    private var source: FileSource
    private var video: VideoDecoder?
    private var audio: AudioDecoder?
    private var listener = AudioListener()
    private var observations = Observations()

    /// Reads all of a file; a growing one up to its present end.
    ///
    /// - Parameters:
    ///   - originNanoseconds: the file's zero on the timeline that sources share.
    ///   - observations: receives the results.
    package static func read(
        _ path: String, originNanoseconds: Int64, into observations: inout Observations
    ) throws(SyncCheckError) {
        let source = try open(path)
        let tracks = source.tracks
        var reader = RecordingReader(
            path: path, originNanoseconds: originNanoseconds, source: source,
            video: try videoDecoder(tracks, path: path),
            audio: try soundDecoder(tracks, path: path))
        try reader.run()
        let found = reader.observations
        observations.pictures += found.pictures
        observations.unreadablePictures += found.unreadablePictures
        observations.damagedPackets += found.damagedPackets
        observations.beeps += reader.listener.beeps.map { $0 + originNanoseconds }
    }

    private init(
        path: String, originNanoseconds: Int64, source: consuming FileSource,
        video: consuming VideoDecoder?, audio: consuming AudioDecoder?
    ) {
        self.path = path
        self.originNanoseconds = originNanoseconds
        self.source = source
        self.video = video
        self.audio = audio
    }

    private static func videoDecoder(
        _ tracks: [CodedTrack], path: String
    ) throws(SyncCheckError) -> VideoDecoder? {
        guard let track = tracks.first(where: { $0.kind == .video }) else { return nil }
        do throws(EncodingError) {
            return try VideoDecoder(track, threads: 0)
        } catch {
            throw .undecodable(path: path, error)
        }
    }

    private static func soundDecoder(
        _ tracks: [CodedTrack], path: String
    ) throws(SyncCheckError) -> AudioDecoder? {
        guard let track = tracks.first(where: { $0.kind == .audio }) else { return nil }
        do throws(EncodingError) {
            return try AudioDecoder(track)
        } catch {
            throw .undecodable(path: path, error)
        }
    }

    /// Opens the available tracks.
    private static func open(_ path: String) throws(SyncCheckError) -> FileSource {
        let descriptor: Int32
        do throws(ArchiveError) {
            descriptor = try FileSystem.open(path)
        } catch {
            throw .unreadable(.cannotOpen(path: path, reason: error.reason))
        }
        defer { close(descriptor) }
        var missing: Set<TrackKind> = []
        while true {
            let kinds = TrackKind.allCases.filter { !missing.contains($0) }
            do throws(DeviceError) {
                return try FileSource(inspecting: path, descriptor: descriptor, kinds: kinds)
            } catch {
                guard case .noTrack(let kind, _) = error, kinds.count > 1 else {
                    throw .unreadable(error)
                }
                missing.insert(kind)
            }
        }
    }

    private mutating func run() throws(SyncCheckError) {
        while let packet = try next() {
            do throws(EncodingError) {
                switch packet.track {
                case .video: try decodePicture(packet)
                case .audio: try decodeAudio(packet)
                }
            } catch {
                guard case .damagedPacket = error else {
                    throw .undecodable(path: path, error)
                }
                observations.damagedPackets += 1
            }
        }
        do throws(EncodingError) {
            try decodePicture(nil)
            try decodeAudio(nil)
        } catch {
            throw .undecodable(path: path, error)
        }
    }

    private mutating func next() throws(SyncCheckError) -> CodedPacket? {
        do throws(DeviceError) {
            return try source.next()
        } catch {
            throw .unreadable(error)
        }
    }

    private mutating func decodePicture(_ packet: CodedPacket?) throws(EncodingError) {
        let origin = originNanoseconds
        var found = Observations()
        defer {
            observations.pictures += found.pictures
            observations.unreadablePictures += found.unreadablePictures
        }
        let note = { (frame: RawFrame) throws(EncodingError) in
            if let coded = Self.code(of: frame) {
                found.pictures.append(
                    Observations.Picture(
                        presentationNanoseconds: origin + frame.captureNanoseconds,
                        codedNanoseconds: coded))
            } else {
                found.unreadablePictures += 1
            }
        }
        if let packet {
            try video?.decode(packet, emit: note)
        } else {
            try video?.finish(emit: note)
        }
    }

    private mutating func decodeAudio(_ packet: CodedPacket?) throws(EncodingError) {
        var listener = listener
        defer { self.listener = listener }
        let note = { (sound: RawAudio) throws(EncodingError) in listener.add(sound) }
        if let packet {
            try audio?.decode(packet, emit: note)
        } else {
            try audio?.finish(emit: note)
        }
    }

    /// Nanoseconds of the source's clock; nil when the picture has no code, or an impossible one.
    private static func code(of frame: RawFrame) -> Int64? {
        guard lumaFormats.contains(frame.format.name),
            frame.width >= TimeCode.columns, frame.height >= 8 * TimeCode.rows
        else { return nil }
        return withExtendedLifetime(frame.owner) {
            TimeCode(readingLumaOf: frame).flatMap { Int64(exactly: $0.captureNanoseconds) }
        }
    }
}
