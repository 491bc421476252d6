import Media

/// Planar floats that wait until there are enough of them for a packet. Belongs to one thread.
final class SoundQueue {
    private(set) var count = 0
    private let channels: Int
    private var capacity = 4096
    private var planes: [UnsafeMutablePointer<Float>]

    init(channels: Int) {
        self.channels = channels
        let size = capacity
        planes = (0..<channels).map { _ in .allocate(capacity: size) }
    }

    deinit { for plane in planes { plane.deallocate() } }

    /// Where up to `frames` more may be written, one pointer per channel; ``didAppend(frames:)`` follows.
    func room(for frames: Int) -> [UnsafeMutablePointer<Float>] {
        if count + frames > capacity {
            capacity = max(2 * capacity, count + frames)
            planes = planes.map { old in
                let new = UnsafeMutablePointer<Float>.allocate(capacity: capacity)
                new.update(from: old, count: count)
                old.deallocate()
                return new
            }
        }
        return planes.map { $0 + count }
    }

    /// So many frames were written.
    func didAppend(frames: Int) {
        precondition(count + frames <= capacity)
        count += frames
    }

    /// Appends planar floats with as many channels.
    func append(_ sound: RawSound) {
        withExtendedLifetime(sound.owner) {
            for (target, source) in zip(room(for: sound.frameCount), sound.planes) {
                target.update(
                    from: source.assumingMemoryBound(to: Float.self), count: sound.frameCount)
            }
        }
        didAppend(frames: sound.frameCount)
    }

    func appendSilence(frames: Int) {
        for target in room(for: frames) { target.update(repeating: 0, count: frames) }
        didAppend(frames: frames)
    }

    /// Moves the first `frames` frames out.
    func take(frames: Int, into targets: [UnsafeMutablePointer<Float>]) {
        precondition(frames <= count && targets.count == channels)
        for (target, plane) in zip(targets, planes) {
            target.update(from: plane, count: frames)
            plane.update(from: plane + frames, count: count - frames)
        }
        count -= frames
    }
}
