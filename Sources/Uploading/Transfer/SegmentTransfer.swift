import Archive
import ObjectStore

/// State machine of a segment's upload: decides the next step from events, without performing it.
///
/// The order of steps makes interruptions harmless. The upload's identifier is on disk before a part is sent, so that parts
/// are not sent twice. The object appears atomically. Its proof is put after it was confirmed, and the local record after
/// the proof. Steps without a record are found by a look-up (``State/looking``): an existing object is compared, not sent
/// again.
struct SegmentTransfer: Sendable {
    enum State: Hashable, Sendable {
        case looking
        case beginning(PutCondition)
        case noting(upload: String, PutCondition)
        case asking(upload: String, PutCondition)
        case sending(upload: String, part: Int, PutCondition)
        case completing(upload: String, PutCondition)
        case putting(PutCondition)
        /// The store has an object that may be this one: the file's digests are needed to compare it.
        case hashing(part: Int, tag: String)
        case confirming(tag: String?)
        case readingBack(part: Int, tag: String)
        case proving(tag: String)
        case recording(tag: String)
        case telling
        case done
    }

    /// Limit of retries when the object differs from what was sent.
    private static let maximumMismatches = 3
    /// Limit of retries when the store answers that the object is another one, or the upload gone. Without it, a store or
    /// proxy that always answers this is sent the content endlessly.
    private static let maximumRepetitions = 3

    private(set) var state: State
    let sizeBytes: Int64
    let partBytes: Int64
    /// SHA-256 of the parts that have been read from the file.
    private(set) var digests: [Digest?]
    /// Parts that the store has of the upload, by number.
    private(set) var parts: [Int: UploadedPart] = [:]
    private let readBack: UploadSettings.ReadBack
    /// Draws the part that is read back.
    private let draw: UInt64
    /// The object existed before; how it was sent is unknown.
    private var isAdopted = false
    /// Every digest from the store was correct.
    private var isChecked = true
    private var upload: String?
    /// Parts of the upload were sent by an earlier attempt, as the store lists them.
    private(set) var isResumed = false
    private var mismatches = 0
    /// Steps that the store has rejected in a way that a new look or a new upload should have mended.
    private(set) var repetitions = 0

    /// - Parameters:
    ///   - upload: the name of an upload of this very content that was begun before; nil: none is known.
    ///   - draw: a random number.
    init(
        sizeBytes: Int64, partBytes: Int64, upload: String?, readBack: UploadSettings.ReadBack,
        draw: UInt64
    ) {
        self.sizeBytes = sizeBytes
        self.partBytes = SegmentProof.partBytes(for: sizeBytes, usual: partBytes)
        self.upload = upload
        self.readBack = readBack
        self.draw = draw
        let count = max(1, (sizeBytes + self.partBytes - 1) / self.partBytes)
        digests = [Digest?](repeating: nil, count: Int(count))
        state = .looking
    }

    /// Whether it is sent at once: an object without parts.
    var isSmall: Bool { digests.count == 1 }

    /// The range of the file that is part `index`, counted from 0.
    func range(ofPart index: Int) -> Range<Int64> {
        let begin = Int64(index) * partBytes
        return begin..<min(begin + partBytes, sizeBytes)
    }

    /// The name of the next step.
    var step: UploadStep? {
        switch state {
        case .looking: .look
        case .beginning: .begin
        case .noting: .note
        case .asking: .ask
        case .sending: .part
        case .completing: .complete
        case .putting: .put
        case .hashing: .hash
        case .confirming: .confirm
        case .readingBack: .readBack
        case .proving: .prove
        case .recording: .record
        case .telling: .tell
        case .done: nil
        }
    }

    // MARK: Events

    /// Result of the look-up.
    /// - Parameter isSameContent: the object's metadata states that it was made from this content.
    mutating func looked(_ found: ObjectProperties?, isSameContent: Bool) {
        guard let found else {
            send(.absent)
            return
        }
        // A small object has no description of its content: it is read back.
        if found.sizeBytes == sizeBytes, isSmall || isSameContent, mismatches == 0 {
            isAdopted = true
            state = .hashing(part: 0, tag: found.tag)
        } else {
            // The object has other content of the same session (``SessionDocuments``): from before retiming, or only a part.
            send(.tag(found.tag))
        }
    }

    /// Sends the content, or the rest of it.
    private mutating func send(_ condition: PutCondition) {
        if isSmall {
            state = .putting(condition)
        } else if let upload {
            state = .asking(upload: upload, condition)
        } else {
            state = .beginning(condition)
        }
    }

    mutating func began(_ upload: String, _ condition: PutCondition) {
        self.upload = upload
        isResumed = false
        parts = [:]
        isAdopted = false
        isChecked = true
        state = .noting(upload: upload, condition)
    }

    mutating func noted() {
        guard case .noting(let upload, let condition) = state else { return }
        state = .sending(upload: upload, part: 0, condition)
    }

    /// The stored parts of an earlier upload; nil: the store does not know the upload.
    mutating func asked(_ found: [UploadedPart]?) {
        guard case .asking(let upload, let condition) = state else { return }
        guard let found else {
            dropUpload()
            return
        }
        isResumed = true
        parts = Dictionary(found.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
        state = .sending(upload: upload, part: 0, condition)
    }

    /// The stored part with index `index`; nil if it must be sent.
    func known(_ index: Int) -> UploadedPart? { parts[index + 1] }

    /// A part is in the store.
    mutating func sent(_ index: Int, _ sent: PartSending.Sent) {
        guard case .sending(let upload, _, let condition) = state else { return }
        digests[index] = sent.digest
        keep(sent)
        state =
            index + 1 < digests.count
            ? .sending(upload: upload, part: index + 1, condition)
            : .completing(upload: upload, condition)
    }

    /// A later part was stored before an earlier one.
    mutating func sentAhead(_ sent: PartSending.Sent) { keep(sent) }

    private mutating func keep(_ sent: PartSending.Sent) {
        parts[sent.part.number] = sent.part
        if !sent.isChecked { isChecked = false }
    }

    /// The parts in order, for completing.
    var orderedParts: [UploadedPart] {
        digests.indices.compactMap { parts[$0 + 1] }
    }

    mutating func completed(tag: String) { state = .confirming(tag: tag) }

    /// The upload is not continued: the store does not know it, or refuses its parts. It may have been completed, with the
    /// answer lost.
    /// - Returns: whether to continue.
    mutating func uploadIsGone() -> Bool {
        dropUpload()
        return countRepetition()
    }

    private mutating func dropUpload() {
        upload = nil
        parts = [:]
        switch state {
        case .asking(_, let condition), .sending(_, _, let condition):
            state = .beginning(condition)
        case .looking, .beginning, .noting, .completing, .putting, .hashing, .confirming,
            .readingBack, .proving, .recording, .telling, .done:
            state = .looking
        }
    }

    /// The result of the last request is unknown: looks the object up again.
    mutating func lookAgain() { state = .looking }

    /// The store states that the object was changed: looks it up again.
    /// - Returns: whether to continue.
    mutating func objectIsChanged() -> Bool {
        state = .looking
        return countRepetition()
    }

    /// - Returns: whether to continue.
    private mutating func countRepetition() -> Bool {
        repetitions += 1
        return repetitions <= Self.maximumRepetitions
    }

    /// A small segment was sent.
    mutating func put(digest: Digest, tag: String) {
        digests[0] = digest
        isAdopted = false
        // The store has verified the digest of the bytes, and returns no digest of objects.
        isChecked = true
        state = .confirming(tag: tag)
    }

    mutating func hashed(_ index: Int, _ digest: Digest) {
        guard case .hashing(_, let tag) = state else { return }
        digests[index] = digest
        state =
            index + 1 < digests.count
            ? .hashing(part: index + 1, tag: tag) : .confirming(tag: tag)
    }

    /// The object was requested once more.
    /// - Returns: whether to continue.
    mutating func confirmed(_ found: ObjectProperties?) -> Bool {
        guard case .confirming(let tag) = state else { return true }
        guard let found, found.sizeBytes == sizeBytes, tag == nil || tag == found.tag else {
            return mismatched()
        }
        let first: Int?
        switch readBack {
        case .all: first = 0
        case .none: first = isAdopted && isSmall ? 0 : nil
        case .sample:
            let isTrusted = !isAdopted && isChecked
            first = isTrusted ? nil : Int(draw % UInt64(digests.count))
        }
        state = first.map { .readingBack(part: $0, tag: found.tag) } ?? .proving(tag: found.tag)
        return true
    }

    /// A part was read back.
    /// - Returns: whether to continue.
    mutating func compared(_ index: Int, isEqual: Bool) -> Bool {
        guard case .readingBack(_, let tag) = state else { return true }
        guard isEqual else { return mismatched() }
        let isLast = readBack != .all || index + 1 == digests.count
        state = isLast ? .proving(tag: tag) : .readingBack(part: index + 1, tag: tag)
        return true
    }

    mutating func proved() {
        guard case .proving(let tag) = state else { return }
        state = .recording(tag: tag)
    }

    mutating func recorded() { state = .telling }

    mutating func told() { state = .done }

    /// The object differs from the file, and is sent again.
    private mutating func mismatched() -> Bool {
        // An object that was found is often another one: that is no error of the store.
        if !isAdopted || mismatches > 0 { mismatches += 1 }
        mismatches = max(mismatches, 1)
        guard mismatches <= Self.maximumMismatches else { return false }
        upload = nil
        parts = [:]
        isAdopted = false
        isChecked = true
        state = .looking
        return true
    }
}
