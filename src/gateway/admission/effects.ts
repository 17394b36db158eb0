// What the scheduler does outside of itself. What these throw changes nothing.

export interface SchedulerEffects {
  /** Sends an empty request with keep_alive 0, so that the model is unloaded once it is idle. */
  unload(worker: string, modelKey: string): void
  /** A load had not begun on an idle worker and was freed by unloading another model. */
  event(name: 'load.stuck', fields: { worker: string; model: string; unloaded: string }): void
}
