package import Media

/// A run of frames as a device gave them, and when its driver looked last.
package struct AudioChunk: Sendable {
    /// The first frame's number since the device was started; what was lost is counted.
    package var firstFrame: Int64
    /// Its own time is not set: a ``AudioClock`` knows it.
    package var sound: RawAudio
    /// How many frames had been captured by when.
    package var reading: AudioReading

    package init(firstFrame: Int64, sound: RawAudio, reading: AudioReading) {
        self.firstFrame = firstFrame
        self.sound = sound
        self.reading = reading
    }
}

/// What a sound device has to say.
package enum AudioInputEvent: Sendable {
    /// Frames. Where their first number does not follow the chunk before, those in between are lost.
    case sound(AudioChunk)
    /// Nothing has come in the time that was given.
    case idle
    /// The device stopped by itself and runs again; its frames are counted from 0, and how many it lost only the times
    /// can tell. The text says why.
    case restarted(String)
}

/// A sound device that is open: capture belongs to one thread.
package protocol AudioInput: AnyObject {
    /// Of the sound that it gives.
    var layout: AudioLayout { get }
    /// What it is, in a few words for people.
    var summary: String { get }
    /// Begins to capture.
    func start() throws(DeviceError)
    /// Waits for sound, but not longer than that.
    func read(timeoutMilliseconds: Int) throws(DeviceError) -> AudioInputEvent
}

/// What a sound device is asked for.
package struct AudioRequest: Hashable, Sendable {
    /// Frames per second; the device's nearest is taken.
    package var sampleRate: Int
    /// The device's nearest number is taken.
    package var channels: Int

    package init(sampleRate: Int, channels: Int) {
        self.sampleRate = sampleRate
        self.channels = channels
    }
}
