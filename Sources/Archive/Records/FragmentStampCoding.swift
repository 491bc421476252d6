import MP4
import Media

/// The stamps of a network camera in a ``FragmentRecord``, which has their layout.
enum FragmentStampCoding {
    /// - Parameters:
    ///   - stamps: nil: a run without any.
    ///   - start: the run's first decoding time.
    static func append(
        _ stamps: CameraStamps?, after start: Int64, to bytes: inout [UInt8]
    ) {
        guard let stamps else { return bytes.appendVarint(0) }
        bytes.appendVarint(Int64(stamps.clockRate))
        var timestamp: UInt32 = 0
        var arrival = start
        var packet: Int64 = 0
        for stamp in stamps.stamps {
            bytes.appendVarint(Int64(Int32(bitPattern: stamp.timestamp &- timestamp)))
            bytes.appendVarint(stamp.arrivalNanoseconds &- arrival)
            bytes.appendVarint(stamp.arrivalSpanNanoseconds)
            bytes.appendVarint(stamp.firstPacket &- packet)
            bytes.appendVarint(Int64(stamp.packets))
            timestamp = stamp.timestamp
            arrival = stamp.arrivalNanoseconds
            packet = stamp.firstPacket
        }
        bytes.appendVarint(Int64(stamps.reports.count))
        for report in stamps.reports {
            bytes.appendBigEndian(report.source)
            bytes.appendBigEndian(report.ntp)
            bytes.appendBigEndian(report.timestamp)
            bytes.appendVarint(report.arrivalNanoseconds &- start)
        }
    }
}

extension RecordReader {
    /// - Parameters:
    ///   - count: the run's samples.
    ///   - start: the run's first decoding time.
    mutating func cameraStamps(
        count: Int, after start: Int64
    ) throws(MalformedRecord) -> CameraStamps? {
        let rate = try varint()
        if rate == 0 { return nil }
        guard let clockRate = UInt32(exactly: rate) else {
            throw MalformedRecord(description: "stamps of a clock with \(rate) ticks a second")
        }
        var stamps: [CameraStamp] = []
        var timestamp: UInt32 = 0
        var arrival = start
        var packet: Int64 = 0
        for _ in 0..<count {
            // Each sample has at least a byte, which limits the count.
            timestamp &+= UInt32(truncatingIfNeeded: try varint())
            arrival &+= try varint()
            let span = try varint()
            packet &+= try varint()
            guard span >= 0, let packets = UInt32(exactly: try varint()) else {
                throw MalformedRecord(description: "an impossible stamp of a camera")
            }
            stamps.append(
                CameraStamp(
                    timestamp: timestamp, arrivalNanoseconds: arrival,
                    arrivalSpanNanoseconds: span, firstPacket: packet, packets: packets))
        }
        let reportCount = try varint()
        guard (0...Int64(CameraStamps.maximumReports)).contains(reportCount) else {
            throw MalformedRecord(description: "\(reportCount) reports of a camera")
        }
        var reports: [CameraReport] = []
        for _ in 0..<reportCount {
            reports.append(
                CameraReport(
                    source: try integer(UInt32.self), ntp: try integer(UInt64.self),
                    timestamp: try integer(UInt32.self),
                    arrivalNanoseconds: start &+ (try varint())))
        }
        return CameraStamps(clockRate: clockRate, stamps: stamps, reports: reports)
    }
}

extension CameraStamps {
    /// Arrivals of all packets and reports, as far as they are known.
    var arrivals: [Int64] {
        stamps.map(\.arrivalNanoseconds) + reports.map(\.arrivalNanoseconds)
    }
}
