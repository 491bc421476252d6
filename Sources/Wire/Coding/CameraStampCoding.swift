import Media
import SwiftProtobuf

extension CameraStamps {
    func encoded(firstDTSNanoseconds start: Int64) -> Tributary_V1_CameraStamps {
        var message = Tributary_V1_CameraStamps()
        message.clockRate = clockRate
        var timestamp: UInt32 = 0
        var arrival = start
        var packet: Int64 = 0
        for stamp in stamps {
            message.timestampSteps.append(Int32(bitPattern: stamp.timestamp &- timestamp))
            message.arrivalSteps.append(stamp.arrivalNanoseconds &- arrival)
            message.arrivalSpans.append(UInt64(clamping: stamp.arrivalSpanNanoseconds))
            message.packetSteps.append(stamp.firstPacket &- packet)
            message.packetCounts.append(stamp.packets)
            timestamp = stamp.timestamp
            arrival = stamp.arrivalNanoseconds
            packet = stamp.firstPacket
        }
        message.reports = reports.map { report in
            var own = Tributary_V1_CameraReport()
            own.source = report.source
            own.ntp = report.ntp
            own.timestamp = report.timestamp
            own.arrival = report.arrivalNanoseconds
            return own
        }
        return message
    }

    /// - Parameter count: number of the run's samples.
    init(
        decoding message: Tributary_V1_CameraStamps, count: Int,
        firstDTSNanoseconds start: Int64
    ) throws(WireError) {
        guard message.clockRate > 0 else {
            throw .malformed("CameraStamps.clock_rate is 0")
        }
        for column in [
            message.timestampSteps.count, message.arrivalSteps.count, message.arrivalSpans.count,
            message.packetSteps.count, message.packetCounts.count,
        ] {
            guard column == count else {
                throw .malformed("a column of CameraStamps has \(column) entries; \(count) needed")
            }
        }
        try FieldChecks.count(
            message.reports.count, "CameraStamps.reports", 0...CameraStamps.maximumReports)
        var stamps: [CameraStamp] = []
        stamps.reserveCapacity(count)
        var timestamp: UInt32 = 0
        var arrival = start
        var packet: Int64 = 0
        for index in 0..<count {
            timestamp &+= UInt32(bitPattern: message.timestampSteps[index])
            let (next, isTooLate) = arrival.addingReportingOverflow(message.arrivalSteps[index])
            guard !isTooLate else {
                throw .malformed("CameraStamps.arrival_steps exceeds the range of a clock")
            }
            arrival = try FieldChecks.time(next, "an arrival")
            // Packet numbers are only compared with each other, so they may wrap.
            packet &+= message.packetSteps[index]
            stamps.append(
                CameraStamp(
                    timestamp: timestamp, arrivalNanoseconds: arrival,
                    arrivalSpanNanoseconds: try FieldChecks.interval(
                        message.arrivalSpans[index], "CameraStamps.arrival_spans"),
                    firstPacket: packet, packets: message.packetCounts[index]))
        }
        var reports: [CameraReport] = []
        for report in message.reports {
            reports.append(
                CameraReport(
                    source: report.source, ntp: report.ntp, timestamp: report.timestamp,
                    arrivalNanoseconds: try FieldChecks.time(
                        report.arrival, "CameraReport.arrival")))
        }
        self.init(clockRate: message.clockRate, stamps: stamps, reports: reports)
    }
}
