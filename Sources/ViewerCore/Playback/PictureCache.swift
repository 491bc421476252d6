import Archive
import Library
import Media
import Recordings
import Synchronization

/// Keeps small pictures: timelines request the same ones repeatedly.
final class PictureCache: Sendable {
    /// Maximum bytes of all pictures.
    private static let capacityBytes = 64 << 20

    struct Key: Hashable, Sendable {
        var session: String
        var source: String
        /// Path of the file that the instant is in; nil: it is in none.
        var file: String?
        /// Revision of that file.
        var revision: UInt32
        /// Session time; nil: the first picture.
        var atNanoseconds: Int64?
        var width: Int
    }

    struct Picture: Sendable {
        var bytes: [UInt8]
        /// When it was captured, session time.
        var atNanoseconds: Int64
    }

    private struct State {
        var entries: [Key: (picture: Picture, used: UInt64)] = [:]
        var bytes = 0
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Bytes of all cached pictures.
    var keptBytes: Int { state.withLock { $0.bytes } }

    func picture(_ key: Key) -> Picture? {
        state.withLock { state in
            state.clock += 1
            state.entries[key]?.used = state.clock
            return state.entries[key]?.picture
        }
    }

    func keep(_ picture: Picture, for key: Key) {
        state.withLock { state in
            guard state.entries[key] == nil, picture.bytes.count < Self.capacityBytes / 8 else {
                return
            }
            state.entries[key] = (picture, state.clock)
            state.bytes += picture.bytes.count
            guard state.bytes > Self.capacityBytes else { return }
            // Drops the older half at once, for a low average cost.
            for (key, entry) in state.entries.sorted(by: { $0.value.used < $1.value.used }) {
                guard state.bytes > Self.capacityBytes / 2 else { break }
                state.bytes -= entry.picture.bytes.count
                state.entries.removeValue(forKey: key)
            }
        }
    }
}

extension PictureCache.Key {
    /// A picture of a source as it is recorded now: retiming, and the removal of files, make another key.
    /// - Parameter atNanoseconds: session time; nil: the first picture.
    init(
        _ recorded: RecordedSource, session: String, atNanoseconds: Int64?, width: Int
    ) throws(ArchiveError) {
        let holding: RecordedFile?
        if let atNanoseconds {
            holding = try recorded.files.last { $0.originNanoseconds <= atNanoseconds }?.opened()
        } else {
            holding = try Self.firstWithPictures(recorded)
        }
        self.init(
            session: session, source: recorded.name, file: holding?.path,
            revision: holding?.revision ?? 0, atNanoseconds: atNanoseconds, width: width)
    }

    private static func firstWithPictures(
        _ recorded: RecordedSource
    ) throws(ArchiveError) -> RecordedFile? {
        for file in recorded.files {
            do throws(ArchiveError) {
                let opened = try file.opened()
                if opened.format(.video) != nil { return opened }
            } catch {
                // The first picture is then in another one.
                if case .malformed = error { continue }
                guard error.isForAbsence else { throw error }
            }
        }
        return nil
    }
}
