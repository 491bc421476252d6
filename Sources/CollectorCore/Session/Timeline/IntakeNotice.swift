import Archive
import Media
import Timing
import Wire

/// An observation about a source's clock or stamps that is worth a ledger line, and possibly a log line.
enum IntakeNotice: Hashable, Sendable {
    /// The first samples of an epoch have arrived.
    case epochOpened(epoch: EpochID, collectorZeroNanoseconds: Int64)
    /// Samples of another epoch have arrived, or the source has ended.
    case epochClosed(epoch: EpochID)
    /// The model of an epoch's clock from here on.
    case model(epoch: EpochID, ClockModel, sessionNanoseconds: Int64)
    /// The clocks diverged by more than slewing can correct: times continue with the new offset.
    case clockJump(epoch: EpochID, byNanoseconds: Int64, sessionNanoseconds: Int64)
    /// The clocks diverged by more than slewing can correct soon, and the new offset would put samples before earlier
    /// ones: times approach it at the slew limit.
    case clockBehind(epoch: EpochID, byNanoseconds: Int64, sessionNanoseconds: Int64)
    /// Samples arrived before any clock exchange: their times are estimated from their arrival.
    case clockUnknown
    /// The first exchange has arrived late: times continue with the measured offset.
    case clockKnown(epoch: EpochID, movedByNanoseconds: Int64, sessionNanoseconds: Int64)
    /// Impossible or contradictory clock exchanges; the number so far in the epoch.
    case doubtfulExchanges(epoch: EpochID, rejected: Int, outliers: Int, reasons: String)
    /// Exchanges that no fragment will contain.
    case exchanges(epoch: EpochID, collectorZeroNanoseconds: Int64, [ClockExchange])
    /// Stamps that could not be kept.
    case badStamps(TrackKind, StampFault, samples: Int)
    /// The times that a network camera states, compared with the recorded ones.
    case stated(TrackKind, StatedTimes.Finding)

    /// Whether it is logged as a warning.
    var isWarning: Bool {
        switch self {
        case .epochOpened, .epochClosed, .model, .exchanges: false
        case .stated(_, let finding): finding.isImpossible
        case .clockJump, .clockBehind, .clockUnknown, .clockKnown, .doubtfulExchanges, .badStamps:
            true
        }
    }

    /// Its kind of ledger line.
    var kind: LedgerEntry.Kind {
        switch self {
        case .epochOpened, .epochClosed: .epoch
        case .model: .clock
        case .clockJump: .discontinuity
        case .exchanges, .doubtfulExchanges: .exchanges
        case .clockUnknown, .clockKnown, .clockBehind, .badStamps: .time
        case .stated: .stated
        }
    }

    /// One line for the log.
    var text: String {
        switch self {
        case .epochOpened: "samples of another run of the box's clock begin"
        case .epochClosed: "no more samples of this run of the box's clock"
        case .model(_, let model, _):
            "offset \(model.offsetNanoseconds) ns ± \(model.boundNanoseconds) ns, "
                + "skew \(model.skewPPB) ppb"
        case .clockJump(_, let nanoseconds, _):
            "the clock offset jumped by \(nanoseconds / 1_000_000) ms; times continue "
                + "with the new offset"
        case .clockBehind(_, let nanoseconds, _):
            "times are \(nanoseconds.magnitude / 1_000_000) ms late; to keep the order of samples, "
                + "they approach the clock by 0.5 ms a second"
        case .clockUnknown:
            "samples arrived before any clock exchange; their times are estimated from their arrival"
        case .clockKnown(_, let nanoseconds, _):
            "the clock has been measured; times were off by \(nanoseconds / 1_000_000) ms"
        case .doubtfulExchanges(_, let rejected, let outliers, let reasons):
            "of the clock exchanges so far, \(rejected) are impossible"
                + (reasons.isEmpty ? "" : " (\(reasons))")
                + " and \(outliers) contradicted the others"
        case .exchanges(_, _, let exchanges):
            "the last \(exchanges.count) clock exchanges"
        case .stated(let track, let finding): "\(track): \(finding.text)"
        case .badStamps(let track, let fault, let samples):
            "\(samples) \(track) samples with times that could not be kept (\(fault.rawValue))"
        }
    }

    /// Sets the machine-readable fields of a line.
    func fill(_ entry: inout LedgerEntry) {
        entry.text = text
        switch self {
        case .epochOpened(let epoch, let zero):
            entry.cause = "opened"
            entry.epoch = epoch.description
            entry.collectorZeroNanoseconds = zero
        case .epochClosed(let epoch):
            entry.cause = "closed"
            entry.epoch = epoch.description
        case .model(let epoch, let model, let start):
            entry.epoch = epoch.description
            entry.startNanoseconds = start
            entry.agentNanoseconds = model.referenceAgentNanoseconds
            entry.offsetNanoseconds = model.offsetNanoseconds
            entry.skewPartsPerBillion = model.skewPPB
            entry.boundNanoseconds = UInt64(clamping: model.boundNanoseconds)
        case .clockJump(let epoch, let distance, let start),
            .clockKnown(let epoch, let distance, let start),
            .clockBehind(let epoch, let distance, let start):
            entry.epoch = epoch.description
            entry.startNanoseconds = start
            entry.offsetNanoseconds = distance
        case .doubtfulExchanges(let epoch, let rejected, let outliers, _):
            entry.epoch = epoch.description
            entry.rejectedExchanges = UInt64(rejected)
            entry.outlyingExchanges = UInt64(outliers)
        case .exchanges(let epoch, let zero, let exchanges):
            entry.epoch = epoch.description
            entry.collectorZeroNanoseconds = zero
            entry.exchanges = exchanges.map {
                [$0.t1Nanoseconds, $0.t2Nanoseconds, $0.t3Nanoseconds, $0.t4Nanoseconds]
            }
        case .stated(let track, let finding):
            entry.text = finding.text
            entry.track = track.description
            entry.startNanoseconds = finding.startNanoseconds
            entry.offsetNanoseconds = finding.medianNanoseconds
            entry.leastNanoseconds = finding.leastNanoseconds
            entry.greatestNanoseconds = finding.greatestNanoseconds
            entry.aheadNanoseconds = finding.aheadNanoseconds
        case .badStamps(let track, let fault, let samples):
            entry.track = track.description
            entry.cause = fault.rawValue
            entry.samples = UInt64(samples)
        case .clockUnknown:
            break
        }
    }
}
