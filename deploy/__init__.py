"""Ways to run Giveway and what it needs: deployment files and the private Slurm."""
