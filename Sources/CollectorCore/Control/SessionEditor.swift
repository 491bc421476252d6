import Archive
import Control
import Library
import Logging
import Wire

/// Changes sessions on behalf of programs that may not write into the archive: the viewer, for its operators.
///
/// It works on the thread of the socket for commands, which may wait for a disk: `tributary top` and `stop` have another one.
struct SessionEditor: Sendable {
    let layout: ArchiveLayout
    let spine: Spine
    let logger: Logger

    /// The answer to a request; nil: it is for the receiving thread.
    func answer(to request: ControlRequest.Request) -> ControlReply.Reply? {
        switch request {
        case .stopSession, .command: return nil
        case .changeSession(let change):
            do {
                try apply(change)
                return .changeTold
            } catch let error as LibraryError {
                if case .noSession = error {
                    return .failure(.noSession, "no session \(change.session)")
                }
                return .failure(.refused, "\(error)")
            } catch let error as SessionEdit.Flaw {
                return .failure(.refused, "\(error)")
            } catch {
                logger.warning("session \(change.session) cannot be changed: \(error)")
                return .failure(
                    .other, "\(change.session) cannot be changed: see the collector's log")
            }
        case .sessionChanged, .status, .unknown:
            return .failure(.unknownRequest, "this socket does not take that request")
        }
    }

    private func apply(_ change: SessionChange) throws {
        let edit = try SessionEdit(
            name: change.name, note: change.note, addedTags: change.addedTags,
            removedTags: change.removedTags, isProtected: change.isProtected)
        let library = try RecordingLibrary(layout.root) { logger.warning("\($0)") }
        do throws(ArchiveError) {
            _ = try library.manifest(change.session)
        } catch {
            guard error.isForAbsence else { throw error }
            throw LibraryError.noSession(change.session, archive: layout.root)
        }
        if change.isRemoval {
            try library.remove(change.session)
            logger.notice("session \(change.session) was removed, as asked")
        } else {
            guard try library.apply(edit, to: change.session).hasChanged else { return }
            logger.info("session \(change.session) was changed, as asked")
        }
        spine.say([.sessionChanged(change.session)])
    }
}
