import CFFmpeg
import FFmpegSupport
import Media

/// A file open for reading, and its container's properties.
struct InputHandle: ~Copyable {
    let path: String
    private let input: MediaInput

    init(_ path: String, cancellation: Cancellation?) throws(ContainerError) {
        do throws(InputFailure) {
            input = try MediaInput(.path(path)) { cancellation?.isCancelled == true }
        } catch {
            switch error {
            case .cancelled: throw .cancelled
            case .unusable(let reason): throw .cannotRead(path, reason: reason)
            }
        }
        self.path = path
    }

    var context: UnsafeMutablePointer<AVFormatContext> { input.context }

    /// libavformat's names of the detected format: `mov,mp4,m4a,3gp,3g2,mj2`.
    var formatName: String { String(cString: context.pointee.iformat.pointee.name) }

    /// Finds the places at which the container has lost bytes; nil in containers where that is unknown.
    var losses: (any ContainerLosses)? { input.losses }

    /// Whether the boxes of a fragmented MP4 are damaged.
    var hasDamagedFragments: Bool { input.hasDamagedFragments }

    /// Packets of a stream that libavformat's index lists.
    func listed(of index: Int) -> Int { input.listed(of: Int32(index)) }

    /// The packets that the container declares for a stream, less those read; and the declared number.
    func unread(of index: Int, read: Int) -> (count: Int, stated: Int) {
        input.unread(of: Int32(index), read: read)
    }

    /// Packets of a stream that the file's edit list hides, so that they were not read.
    func hidden(of index: Int, read: Int) -> Int { input.hidden(of: Int32(index), read: read) }

    /// Whether each packet of the file has a time of its own, or at least a position.
    var hasPositions: Bool { input.hasPositions }

    /// Repairs the times of some streams' packets.
    func timeline(
        of streams: [(stream: UnsafeMutablePointer<AVStream>, step: Int64)]
    ) throws(BitstreamError) -> PacketTimeline<PacketHandle> {
        try input.timeline(of: streams)
    }

    /// Whether the container lists every packet up front (ISO/IEC 14496-12 sample tables).
    var hasPacketIndex: Bool { formatName.hasPrefix("mov,") }

    /// The earliest presented time of the file, microseconds.
    var startMicroseconds: Int64 {
        guard !input.storesPresentationTimes else {
            let start = context.pointee.start_time
            return start == CFFmpeg_NOPTS_VALUE ? 0 : start
        }
        let starts = (0..<Int32(streamCount)).compactMap { index in
            input.startTime(of: index).map {
                av_rescale_q(
                    $0, stream(Int(index)).pointee.time_base,
                    AVRational(num: 1, den: Int32(AV_TIME_BASE)))
            }
        }
        return starts.min() ?? 0
    }

    /// The file's stated duration, microseconds; nil without one.
    var durationMicroseconds: Int64? {
        let duration = context.pointee.duration
        return duration == CFFmpeg_NOPTS_VALUE || duration <= 0 ? nil : duration
    }

    var streamCount: Int { Int(context.pointee.nb_streams) }

    func stream(_ index: Int) -> UnsafeMutablePointer<AVStream> {
        guard index < streamCount, let stream = context.pointee.streams[index] else {
            preconditionFailure("libavformat lists a stream that is not there")
        }
        return stream
    }
}
