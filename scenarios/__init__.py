"""What can happen: dimensions, tools, environments, the constraint language, grading and the scenario files."""
